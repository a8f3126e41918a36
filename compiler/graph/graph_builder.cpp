#include "compiler/graph/graph_builder.h"

#include <utility>

#include "compiler/graph/op_table.h"
#include "compiler/graph/print.h"
#include "compiler/graph/verify.h"

namespace edge_infer {

SymInt GraphBuilder::symbol(std::string name, SymRange range, int64_t hint) {
  for (const Symbol& symbol : graph_->symbols())
    if (symbol.name == name && !(symbol == Symbol{name, range, hint}))
      set_error({ErrorCode::kInvalidArgument, fmt::format("symbol {} is declared twice", name)});
  const SymInt result = SymInt::symbol(name);
  if (!failed_) {
    bool known = false;
    for (const Symbol& symbol : graph_->symbols()) known = known || symbol.name == name;
    if (!known) graph_->symbols().push_back({std::move(name), range, hint});
  }
  return result;
}

ValueId GraphBuilder::input(std::string name, DType dtype, std::vector<SymInt> sizes, InputKind kind) {
  if (failed_) return kNoValue;
  return graph_->add_input(std::move(name), {dtype, std::move(sizes)}, kind);
}

ValueId GraphBuilder::constant(std::string name, DType dtype, std::vector<SymInt> sizes, ConstantKind kind) {
  if (failed_) return kNoValue;
  TensorType type{dtype, std::move(sizes)};
  const auto known = graph_->find_constant(name);
  if (!known) return graph_->add_constant(std::move(name), std::move(type), kind);
  if (graph_->value(*known).type == type) return *known;
  set_error({ErrorCode::kInvalidArgument, fmt::format("constant \"{}\" is {} here and {} before", name,
                                                      print(type), print(graph_->value(*known).type))});
  return kNoValue;
}

bool GraphBuilder::usable(ValueId value, std::string_view user) {
  if (value >= 0 && value < graph_->value_count()) return true;
  set_error({ErrorCode::kInternal,
             fmt::format("{}: operand id {} of {} values", user, value, graph_->value_count())});
  return false;
}

std::vector<ValueId> GraphBuilder::op_multi(std::string_view name, std::vector<ValueId> inputs,
                                            Attributes attributes, std::vector<std::string> result_names) {
  if (failed_) return {};
  const auto failed = [&](Error error) {
    set_error(std::move(error));
    return std::vector<ValueId>{};
  };
  const OpInfo* op = find_op(name);
  if (op == nullptr) return failed({ErrorCode::kUnsupported, fmt::format("there is no op {}", name)});
  while (inputs.size() < op->operands.size() && op->operands[inputs.size()].optional)
    inputs.push_back(kNoValue);
  if (auto status = check_operands(*op, inputs); !status) return failed(status.error());
  for (const ValueId input : inputs)
    if (input != kNoValue && !usable(input, name)) return {};
  auto normal = normalize_attributes(*op, std::move(attributes));
  if (!normal) return failed(normal.error());
  Node node{op, std::move(inputs), *std::move(normal), {}};
  auto types = infer_types(*graph_, node);
  if (!types) return failed(types.error());
  const NodeId id = graph_->add_node(*op, std::move(node.inputs), std::move(node.attributes),
                                     *std::move(types), std::move(result_names));
  return graph_->node(id).outputs;
}

ValueId GraphBuilder::op(std::string_view name, std::vector<ValueId> inputs, Attributes attributes,
                         std::string result_name) {
  const auto results = op_multi(name, std::move(inputs), std::move(attributes), {std::move(result_name)});
  return results.empty() ? kNoValue : results.front();
}

void GraphBuilder::output(ValueId value, OutputKind kind, ValueId state) {
  if (failed_ || !usable(value, "output")) return;
  graph_->add_output({value, kind, state});
}

const TensorType& GraphBuilder::type(ValueId value) const {
  static const TensorType unknown{DType::kF32, std::vector<SymInt>(static_cast<size_t>(kMaxRank))};
  return value < 0 || value >= graph_->value_count() ? unknown : graph_->value(value).type;
}

void GraphBuilder::set_error(Error error) {
  if (failed_) return;
  failed_ = true;
  error_ = std::move(error);
}

Result<Graph> GraphBuilder::finish() {
  if (failed_) return std::unexpected(error_);
  EDGE_INFER_RETURN_IF_ERROR(verify(*graph_));
  return std::move(owned_);
}

}  // namespace edge_infer
