// Machine code for the kernels of a compiled graph: from the cache, from another process that is compiling
// them, or from the compiler.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <vector>

#include "compiler/codegen/kernel_compiler.h"
#include "compiler/compile.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/device/device.h"

namespace edge_infer {

struct ObtainReport {
  int64_t from_cache = 0, compiled = 0;
  double compile_seconds = 0;  // CPU time of the compiler
};

// Loads all of `kernels` into `device`; what was compiled goes into the cache once it is loaded. `kernels` of
// the cache are keyed by content, so what another process makes meanwhile is as good. `cache` may be null.
// `patience`: how long, for all kernels together, to wait for a process that lives and compiles some of them
// (it needs well under a second); past it they are compiled here. One that is dead is not waited for.
// `is_cancelled` is asked many times a second, while the compiler works as well.
// Errors: what the compiler reports for the first kernel that failed, kCancelled.
Result<ObtainReport> obtain_kernels(std::span<const KernelPlan> kernels, const Device& device,
                                    KernelCompiler& compiler, KernelCache* cache,
                                    const std::function<bool()>& is_cancelled,
                                    std::chrono::milliseconds patience = std::chrono::seconds(20));

// As obtain_kernels(), where one that does not compile or load is none of the others' business: a status a
// kernel, in order. Errors: kCancelled, kDeviceLost.
Result<std::vector<Status>> obtain_candidates(std::span<const KernelPlan> kernels, const Device& device,
                                              KernelCompiler& compiler, KernelCache* cache,
                                              const std::function<bool()>& is_cancelled);

}  // namespace edge_infer
