// How a nest touches a buffer relative to its work axis: what decides which kernels may share a phase
// (loop_ir.md §9).
#pragma once

#include <optional>
#include <vector>

#include "compiler/loop/loop_nest.h"

namespace edge_infer {

// Of one argument of a nest.
struct RowAccess {
  bool reads = false, writes = false;
  // Iteration m touches elements [stride * m, stride * (m + 1)) and no others. Absent where that does not
  // follow from the index expressions.
  std::optional<SymInt> stride;
};

// One a buffer of the nest, in order. Packed weights and index buffers read anywhere.
std::vector<RowAccess> row_accesses(const loop::LoopNest& nest);

}  // namespace edge_infer
