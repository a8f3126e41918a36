// Which linears of a graph are products of f16 or bf16 operands that a GEMM statement serves, and the
// conversions around them that are not computed: of weights, which are packed in that type, of sums, which
// are f32 anyway, and of operands that lie in memory in that type.
#pragma once

#include <set>

#include "compiler/graph/graph.h"

namespace edge_infer::loop {

struct HalfGemms {
  std::set<NodeId> gemms;
  std::set<NodeId> rounded_weights;  // aten._to_copy of constants that these linears alone read
  std::set<NodeId> wide_sums;        // linears of `gemms` that nothing reads but conversions to f32
  std::set<NodeId> stored_operands;  // aten._to_copy of results that these linears alone read, as their rows
};

// `half`: f16 or bf16. `narrow_temps`: f32 results lie in memory as `half`. `whole`: nodes that keep their
// prebuilt kernels.
HalfGemms find_half_gemms(const Graph& graph, const std::set<NodeId>& whole, DType half, bool narrow_temps);

}  // namespace edge_infer::loop
