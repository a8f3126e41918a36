// max-autotune: the schedules of a graph's nests by measurement on the device, kept in the cache with the
// times, and with what they hold for (Device::measured_on()). The candidates of a nest are the generator's:
// at most 8, all of one accumulation class, so that a choice never changes bits.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/entry_compilation.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer {

// A nest at a row class, with what was measured of its candidates.
struct TunedNest {
  struct Candidate {
    Schedule schedule;
    std::vector<int64_t> nanoseconds;  // one a round; empty: it failed
  };
  std::string identity;  // tuning_identity()
  std::string name;      // of the nest
  int64_t rows = 0;      // most rows of the class, INT64_MAX in the last; 0: there are no classes
  std::vector<Candidate> candidates;  // the generator's own choice first
  size_t chosen = 0;

  const Schedule& schedule() const { return candidates[chosen].schedule; }
  // "@linear, up to 128 rows: tile=s32 5.5 us, own choice tile=c96 6.1 us, 8 candidates"
  std::string text() const;
};

// What the cache has measured for the nest here; nullopt where there is no choice, or a candidate without a
// measurement.
std::optional<TunedNest> stored_tuning(const loop::LoopNest& nest, int64_t rows, const CompileSite& site,
                                       KernelCache& cache);
// The schedule of stored_tuning(), else the generator's own: for CompileOptions::schedule.
Schedule stored_schedule(const loop::LoopNest& nest, int64_t rows, const CompileSite& site,
                         KernelCache& cache);

struct TunedSchedules {
  std::vector<TunedNest> nests;
  // Nothing would be gained by another attempt: it was not cancelled, and no device or memory was missing.
  bool complete = true;

  // The measured choice, else the generator's own.
  Schedule find(const loop::LoopNest& nest, int64_t rows, const CompileSite& site) const;
};

// Measures every nest of the graph's forms that has a choice and no measurement that holds here; the kernels
// of all their candidates are compiled in one batch first. A candidate that does not compile, load or launch,
// or whose results have other bits than the first's, is left out. Notes measurements, and misses with what
// differs from those of another device or driver, as events of the cache. `cache` may be null. What cannot be
// measured keeps the generator's own choice, with a warning.
TunedSchedules tune_schedules(const CompiledGraph& graph, const CompileSite& site, KernelCache* cache,
                              const std::function<bool()>& is_cancelled);

// What identifies nest and class in tuning rows: the nest's text, generator and compiler.
std::string tuning_identity(const loop::LoopNest& nest, int64_t rows, const CompileSite& site);

}  // namespace edge_infer
