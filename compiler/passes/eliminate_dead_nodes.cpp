#include <algorithm>
#include <utility>

#include "compiler/graph/op_table.h"
#include "compiler/passes/passes.h"

namespace edge_infer {
namespace {

std::vector<bool> live_values(const Graph& graph) {
  std::vector<bool> live(static_cast<size_t>(graph.value_count()), false);
  for (const GraphInput& input : graph.inputs()) live[static_cast<size_t>(input.value)] = true;
  for (const GraphOutput& output : graph.outputs()) live[static_cast<size_t>(output.value)] = true;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const bool needed = std::any_of(node->outputs.begin(), node->outputs.end(),
                                    [&](ValueId id) { return live[static_cast<size_t>(id)]; });
    if (!needed) continue;
    // A node lives with all its results.
    for (const ValueId id : node->outputs) live[static_cast<size_t>(id)] = true;
    for (const ValueId id : node->inputs)
      if (id != kNoValue) live[static_cast<size_t>(id)] = true;
  }
  return live;
}

}  // namespace

Result<bool> eliminate_dead_nodes(Graph& graph, const PassContext&) {
  const std::vector<bool> live = live_values(graph);
  if (std::find(live.begin(), live.end(), false) == live.end()) return false;
  Graph to(graph.name());
  to.symbols() = graph.symbols();
  std::vector<ValueId> map(live.size(), kNoValue);
  const auto at = [&](ValueId id) -> ValueId& { return map[static_cast<size_t>(id)]; };
  for (const GraphConstant& c : graph.constants())
    if (live[static_cast<size_t>(c.value)])
      at(c.value) = to.add_constant(graph.value(c.value).name, graph.value(c.value).type, c.kind);
  for (const GraphInput& i : graph.inputs())
    at(i.value) = to.add_input(graph.value(i.value).name, graph.value(i.value).type, i.kind);
  for (const Node& node : graph.nodes()) {
    if (!live[static_cast<size_t>(node.outputs[0])]) continue;
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(id == kNoValue ? kNoValue : at(id));
    std::vector<TensorType> types;
    std::vector<std::string> names;
    for (const ValueId id : node.outputs) {
      types.push_back(graph.value(id).type);
      names.push_back(graph.value(id).name);
    }
    const NodeId copied =
        to.add_node(*node.op, std::move(inputs), node.attributes, std::move(types), std::move(names));
    for (size_t i = 0; i < node.outputs.size(); ++i) at(node.outputs[i]) = to.node(copied).outputs[i];
  }
  for (const GraphOutput& o : graph.outputs())
    to.add_output({at(o.value), o.kind, o.state == kNoValue ? kNoValue : at(o.state)});
  graph = std::move(to);
  return true;
}

}  // namespace edge_infer
