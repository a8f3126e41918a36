// Ops that a back end may have prebuilt kernels for, in simpler ones: what a target without such kernels
// computes, and what is so little work that it had better be fused.
#pragma once

#include <span>
#include <vector>

#include "compiler/graph/graph_builder.h"
#include "compiler/loop/lower.h"

namespace edge_infer::loop {

// Whether the node keeps its prebuilt kernel because the target prefers that (LowerOptions::prebuilt_ops) and
// it is enough work at the hint sizes.
bool prefers_prebuilt(const Graph& graph, const Node& node, const LowerOptions& options);

// The results of aten.matmul, edge.rope and edge.packed_positions; empty for other ops. A product is a sum of
// products: the factor [.., M, K, N] is never stored.
std::vector<ValueId> prebuilt_parts(GraphBuilder& b, const Node& node, std::span<const ValueId> in);

}  // namespace edge_infer::loop
