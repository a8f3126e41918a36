// Times the candidates of one kernel against each other on this machine.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/loop/loop_nest.h"
#include "runtime/device/device.h"

namespace edge_infer {

struct MeasureOptions {
  int rounds = 25;            // each candidate once a round, in turn
  double max_seconds = 0.25;  // of all rounds together
  std::function<bool()> is_cancelled{};
};

// Best time of each candidate in nanoseconds, on one thread, over the whole domain at the given symbol
// values. Buffers are made up: small numbers, index buffers all zero. Interleaved, so that a machine that
// slows down slows all of them. Errors: kResourceExhausted, kInvalidArgument (a size that does not evaluate),
// kCancelled.
Result<std::vector<double>> measure_candidates(const loop::LoopNest& nest,
                                               std::span<const LoadedKernel> candidates,
                                               std::span<const int64_t> symbols, size_t packed_bytes,
                                               const MeasureOptions& options);

// The candidate to take: the fastest, unless it is within `margin` of the first (the default), which then
// stays; so noise does not change the choice from one run to the next.
size_t choose_candidate(std::span<const double> nanoseconds, double margin = 0.03);

}  // namespace edge_infer
