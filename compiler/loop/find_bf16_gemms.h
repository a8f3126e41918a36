// Which linears of a graph are products of bf16 operands that a GEMM statement serves, and the conversions
// around them that are not computed: of weights, which are packed in bf16, and of sums, which are f32 anyway.
#pragma once

#include <set>

#include "compiler/graph/graph.h"

namespace edge_infer::loop {

struct Bf16Gemms {
  std::set<NodeId> gemms;
  std::set<NodeId> rounded_weights;  // aten._to_copy of constants that these linears alone read
  std::set<NodeId> wide_sums;        // linears of `gemms` that nothing reads but conversions to f32
};

// `whole`: nodes that keep their prebuilt kernels.
Bf16Gemms find_bf16_gemms(const Graph& graph, const std::set<NodeId>& whole);

}  // namespace edge_infer::loop
