#include <algorithm>
#include <map>

#include "compiler/graph/op_table.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace edge_infer {
namespace {

bool is_constant_or_joined(const Graph& graph, ValueId v) {
  if (graph.is_constant(v)) return true;
  const NodeId producer = graph.value(v).producer;
  if (producer == kNoNode) return false;
  const Node& node = graph.node(producer);
  return node.op->name == "aten.cat" && attribute_as<int64_t>(node, "dim") == 0 &&
         std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId part) { return graph.is_constant(part); });
}

bool is_served(const Graph& graph, const Node& node) {
  if (node.op->name != "aten.linear" || !is_constant_or_joined(graph, node.inputs[1])) return false;
  for (const ValueId v : node.inputs)
    if (v != kNoValue && graph.value(v).type.dtype != DType::kF32) return false;
  return true;
}

}  // namespace

Result<bool> assign_precision(Graph& graph, const PassContext& context) {
  std::map<ValueId, ValueId> narrowed;  // by value of the new graph
  const auto narrow = [&](GraphBuilder& b, ValueId v) {
    const auto [at, is_new] = narrowed.emplace(v, kNoValue);
    if (is_new) at->second = b.op("aten._to_copy", {v}, {{"dtype", context.precision}});
    return at->second;
  };
  return rewrite(graph,
                 [&](GraphBuilder& b, const Node& node, std::span<const ValueId> inputs) -> Replacement {
                   if (!is_served(graph, node)) return std::nullopt;
                   const ValueId x = narrow(b, inputs[0]), weight = narrow(b, inputs[1]);
                   ValueId y = b.op("aten.linear", {x, weight});
                   y = b.op("aten._to_copy", {y}, {{"dtype", DType::kF32}});
                   if (inputs.size() > 2 && inputs[2] != kNoValue) y = b.op("aten.add", {y, inputs[2]});
                   return std::vector{y};
                 });
}

}  // namespace edge_infer
