#include "compiler/graph/verify.h"

#include <algorithm>
#include <set>
#include <string>

#include "compiler/graph/op_table.h"
#include "compiler/graph/print.h"

namespace edge_infer {
namespace {

using Names = std::set<std::string, std::less<>>;

Status verify_symbols(const Graph& graph, Names& declared) {
  for (const Symbol& symbol : graph.symbols()) {
    if (!declared.insert(symbol.name).second)
      return fail(ErrorCode::kInvalidArgument, "symbol {} is declared twice", symbol.name);
    const auto parsed = SymInt::parse(symbol.name);
    if (!parsed || parsed->symbols() != std::vector{symbol.name})
      return fail(ErrorCode::kInvalidArgument, "symbol \"{}\" is no name", symbol.name);
    if (symbol.range.lo < 0 || symbol.range.lo > symbol.hint || symbol.hint > symbol.range.hi)
      return fail(ErrorCode::kInvalidArgument, "symbol {}: range {}..{} and hint {} are not in order",
                  symbol.name, symbol.range.lo, symbol.range.hi, symbol.hint);
  }
  return {};
}

Status verify_type(const Value& value, const Names& declared, bool is_constant) {
  if (value.type.rank() > kMaxRank)
    return fail(ErrorCode::kInvalidArgument, "{}: {} dimensions, at most {} are allowed", value.name,
                value.type.rank(), kMaxRank);
  for (const SymInt& size : value.type.sizes) {
    if (size.constant() && *size.constant() < 0)
      return fail(ErrorCode::kInvalidArgument, "{}: negative size in {}", value.name, print(value.type));
    if (is_constant && !size.constant())
      return fail(ErrorCode::kInvalidArgument, "constant {}: symbolic size in {}", value.name,
                  print(value.type));
    for (const std::string& symbol : size.symbols())
      if (!declared.contains(symbol))
        return fail(ErrorCode::kInvalidArgument, "{}: symbol {} in {} is not declared", value.name, symbol,
                    print(value.type));
  }
  return {};
}

Status verify_values(const Graph& graph, const Names& declared) {
  Names constants, others;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    const bool is_constant = graph.is_constant(id);
    if (!(is_constant ? constants : others).insert(value.name).second)
      return fail(ErrorCode::kInvalidArgument, "two values are named \"{}\"", value.name);
    EDGE_INFER_RETURN_IF_ERROR(verify_type(value, declared, is_constant));
  }
  return {};
}

Status verify_attributes(const Node& node, const Names& declared) {
  EDGE_INFER_ASSIGN(const Attributes normal, normalize_attributes(*node.op, node.attributes));
  if (normal.size() != node.attributes.size() ||
      !std::equal(normal.begin(), normal.end(), node.attributes.begin(), [](const auto& a, const auto& b) {
        return a.first == b.first && a.second.index() == b.second.index();
      }))
    return fail(ErrorCode::kInvalidArgument, "attributes are not in schema order with defaults left out");
  const auto check = [&](const SymInt& size) -> Status {
    for (const std::string& symbol : size.symbols())
      if (!declared.contains(symbol))
        return fail(ErrorCode::kInvalidArgument, "symbol {} in {} is not declared", symbol, size.str());
    return {};
  };
  for (const auto& [name, value] : node.attributes) {
    if (const auto* size = std::get_if<SymInt>(&value)) EDGE_INFER_RETURN_IF_ERROR(check(*size));
    if (const auto* sizes = std::get_if<std::vector<SymInt>>(&value))
      for (const SymInt& size : *sizes) EDGE_INFER_RETURN_IF_ERROR(check(size));
  }
  return {};
}

Status verify_node(const Graph& graph, NodeId id, const Names& declared) {
  const Node& node = graph.node(id);
  EDGE_INFER_RETURN_IF_ERROR(check_operands(*node.op, node.inputs));
  for (const ValueId input : node.inputs) {
    if (input == kNoValue) continue;
    if (input < 0 || input >= graph.value_count())
      return fail(ErrorCode::kInvalidArgument, "{}: operand id {} of {} values", node.op->name, input,
                  graph.value_count());
    if (graph.value(input).producer >= id)
      return fail(ErrorCode::kInvalidArgument, "{}: operand {} is used before it is defined", node.op->name,
                  graph.value(input).name);
  }
  EDGE_INFER_RETURN_IF_ERROR(verify_attributes(node, declared));
  EDGE_INFER_ASSIGN(const std::vector<TensorType> types, infer_types(graph, node));
  if (types.size() != node.outputs.size())
    return fail(ErrorCode::kInvalidArgument, "{}: {} results, expected {}", node.op->name,
                node.outputs.size(), types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const Value& value = graph.value(node.outputs[i]);
    if (value.producer != id)
      return fail(ErrorCode::kInvalidArgument, "{}: result {} has another producer", node.op->name,
                  value.name);
    if (!(value.type == types[i]))
      return fail(ErrorCode::kInvalidArgument, "{}: result {} is declared {}, expected {}", node.op->name,
                  value.name, print(value.type), print(types[i]));
  }
  return {};
}

Status verify_outputs(const Graph& graph) {
  std::set<ValueId> updated;
  for (const GraphOutput& output : graph.outputs()) {
    if (output.value < 0 || output.value >= graph.value_count())
      return fail(ErrorCode::kInvalidArgument, "output id {} of {} values", output.value,
                  graph.value_count());
    const Value& value = graph.value(output.value);
    if (output.kind != OutputKind::kStateUpdate) {
      if (output.state != kNoValue)
        return fail(ErrorCode::kInvalidArgument, "output {} names a state but does not update it",
                    value.name);
      continue;
    }
    const bool is_state =
        std::any_of(graph.inputs().begin(), graph.inputs().end(), [&](const GraphInput& input) {
          return input.kind == InputKind::kState && input.value == output.state;
        });
    if (!is_state)
      return fail(ErrorCode::kInvalidArgument, "output {} updates what is no state input", value.name);
    const Value& state = graph.value(output.state);
    if (!updated.insert(output.state).second)
      return fail(ErrorCode::kInvalidArgument, "state {} is updated twice", state.name);
    if (!(state.type == value.type))
      return fail(ErrorCode::kInvalidArgument, "state {} is {}, its update {} is {}", state.name,
                  print(state.type), value.name, print(value.type));
  }
  return {};
}

}  // namespace

Status verify(const Graph& graph) {
  Names declared;
  EDGE_INFER_RETURN_IF_ERROR(verify_symbols(graph, declared));
  EDGE_INFER_RETURN_IF_ERROR(verify_values(graph, declared));
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id)
    if (auto status = verify_node(graph, id, declared); !status) {
      const auto& outputs = graph.node(id).outputs;
      return fail_with_context(
          status.error(),
          "node " + std::string(outputs.empty() ? "without results" : graph.value(outputs[0]).name));
    }
  return verify_outputs(graph);
}

}  // namespace edge_infer
