// How far a compiled graph was fused, counted on its graph after the passes.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/compile.h"

namespace edge_infer::test {

struct FusionCount {
  int64_t nodes = 0;    // that are no views
  int64_t kernels = 0;  // steps, prebuilt ones included, but for:
  int64_t copies = 0;   // steps that only copy (views of) inputs or constants to outputs: no node is computed
  int64_t prebuilt = 0;  // of kernels
  // The first edge between nodes of different kernels that the program gives no reason for; empty: none.
  std::string without_reason;

  FusionCount& operator+=(const FusionCount& other);
};

FusionCount count_fusion(const CompiledGraph& compiled);

}  // namespace edge_infer::test
