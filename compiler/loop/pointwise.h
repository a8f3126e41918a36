// Pointwise ops as scalar expressions: where sigmoid, gelu, clamp and their like become arithmetic. f16 and
// bf16 are computed in f32 and rounded once, at the node's result; integers narrower than 32 bits in i32.
#pragma once

#include <optional>
#include <span>

#include "compiler/graph/graph.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer::loop {

// Whether lower_pointwise serves the node: OpKind::kPointwise and aten.clone.
bool is_pointwise(const Node& node);

// The node's result in its own dtype, from operands in theirs.
ExprId lower_pointwise(ExprBuilder& b, const Graph& graph, const Node& node,
                       std::span<const ExprId> operands);

// Roughly how many simple operations an element costs; a transcendental function counts for several.
int pointwise_cost(const Node& node);

// What arithmetic on `dtype` is done in.
DType compute_dtype(DType dtype);

}  // namespace edge_infer::loop
