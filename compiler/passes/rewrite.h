// Rebuilding a graph node by node: how passes replace values while ids stay a topological order.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/graph_builder.h"

namespace edge_infer {

// The values, in the new graph behind `builder`, that stand for the node's results; nullopt copies the node
// as it is. `inputs` are the node's operands in the new graph.
using Replacement = Result<std::optional<std::vector<ValueId>>>;
using ReplaceNode =
    std::function<Replacement(GraphBuilder& builder, const Node& node, std::span<const ValueId> inputs)>;

// True when any node was replaced. A value that a replacement makes takes the name of the result that it
// stands for; values in between are named after it (`y.1`, `y.2`). Errors: those of `replace` and of the
// builder, and kInternal where a type would change; the graph is untouched then.
Result<bool> rewrite(Graph& graph, const ReplaceNode& replace);

}  // namespace edge_infer
