#include "compiler/program/prebuilt_step.h"

#include <algorithm>
#include <map>

#include "compiler/fallback/lower_fallback.h"

namespace edge_infer {

std::vector<ValueId> prebuilt_step_inputs(const Graph& graph, NodeId node) {
  std::vector<ValueId> inputs;
  for (const ValueId v : graph.node(node).inputs)
    if (v != kNoValue && !graph.is_constant(v) && std::ranges::find(inputs, v) == inputs.end())
      inputs.push_back(v);
  return inputs;
}

Result<Program> lower_prebuilt_step(const Graph& graph, NodeId id, const Target& target) {
  const Node& node = graph.node(id);
  Graph alone(graph.name());
  alone.symbols() = graph.symbols();
  std::map<ValueId, ValueId> mapped{{kNoValue, kNoValue}};
  for (const ValueId v : prebuilt_step_inputs(graph, id))
    mapped[v] = alone.add_input(graph.value(v).name, graph.value(v).type);
  for (const Symbol& s : graph.symbols())
    alone.add_input("size of " + s.name, {DType::kI32, {SymInt::symbol(s.name)}});
  for (const ValueId v : node.inputs)
    if (v != kNoValue && !mapped.contains(v))
      mapped[v] = alone.add_constant(graph.value(v).name, graph.value(v).type);
  std::vector<ValueId> operands;
  for (const ValueId v : node.inputs) operands.push_back(mapped.at(v));
  std::vector<TensorType> types;
  for (const ValueId v : node.outputs) types.push_back(graph.value(v).type);
  const NodeId copy = alone.add_node(*node.op, std::move(operands), node.attributes, std::move(types));
  for (const ValueId v : alone.node(copy).outputs) alone.add_output({v});
  return lower_fallback(alone, target);
}

}  // namespace edge_infer
