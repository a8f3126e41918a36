// max-autotune: the schedule of a nest by measurement, kept in the cache.
#pragma once

#include <functional>

#include "compiler/entry_compilation.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer {

// The measured choice among the generator's candidates (at most 8, one accumulation class), from the cache
// where it has been measured on this machine before. The default where there is one candidate, where
// measuring fails, or after cancellation. `cache` may be null. Symbols stand at their hints, at least 64
// rows.
Schedule tuned_schedule(const loop::LoopNest& nest, const CompileSite& site, KernelCache* cache,
                        const std::function<bool()>& is_cancelled);

// What identifies a nest in tuning rows.
std::string nest_identity(const loop::LoopNest& nest);
// What identifies this machine in tuning rows: CPU model, features, kind of virtualization as far as it is
// known.
std::string machine_identity();

}  // namespace edge_infer
