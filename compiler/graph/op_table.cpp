#include "compiler/graph/op_table.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "compiler/graph/ops.h"

namespace edge_infer {
namespace {

std::vector<OpInfo> make_table() {
  std::vector<OpInfo> table;
  add_binary_ops(table);
  add_scalar_ops(table);
  add_unary_ops(table);
  add_activation_ops(table);
  add_view_ops(table);
  add_copy_ops(table);
  add_reduction_ops(table);
  add_matmul_ops(table);
  add_normalization_ops(table);
  add_gather_ops(table);
  add_attention_ops(table);
  add_packed_ops(table);
  return table;
}

const char* kind_name(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kBool:
      return "true or false";
    case AttributeKind::kInt:
      return "an integer";
    case AttributeKind::kFloat:
      return "a number";
    case AttributeKind::kScalar:
      return "a number";
    case AttributeKind::kString:
      return "a string";
    case AttributeKind::kDType:
      return "an element type";
    case AttributeKind::kInts:
      return "a list of integers";
    case AttributeKind::kSize:
      return "a size";
    case AttributeKind::kSizes:
      return "a list of sizes";
  }
  return "";
}

// The attribute in the alternative of `kind`; false where it has no such form.
bool widen(AttributeKind kind, Attribute& value) {
  const auto* integer = std::get_if<int64_t>(&value);
  switch (kind) {
    case AttributeKind::kBool:
      return std::holds_alternative<bool>(value);
    case AttributeKind::kInt:
      return integer != nullptr;
    case AttributeKind::kFloat:
      if (integer != nullptr) value = static_cast<double>(*integer);
      return std::holds_alternative<double>(value);
    case AttributeKind::kScalar:
      return integer != nullptr || std::holds_alternative<double>(value) ||
             std::holds_alternative<bool>(value);
    case AttributeKind::kString:
      return std::holds_alternative<std::string>(value);
    case AttributeKind::kDType:
      return std::holds_alternative<DType>(value);
    case AttributeKind::kInts: {
      if (const auto* sizes = std::get_if<std::vector<SymInt>>(&value)) {
        std::vector<int64_t> integers;
        for (const SymInt& size : *sizes) {
          if (!size.constant()) return false;
          integers.push_back(*size.constant());
        }
        value = std::move(integers);
      }
      return std::holds_alternative<std::vector<int64_t>>(value);
    }
    case AttributeKind::kSize:
      if (integer != nullptr) value = SymInt(*integer);
      return std::holds_alternative<SymInt>(value);
    case AttributeKind::kSizes:
      if (const auto* integers = std::get_if<std::vector<int64_t>>(&value))
        value = std::vector<SymInt>(integers->begin(), integers->end());
      return std::holds_alternative<std::vector<SymInt>>(value);
  }
  return false;
}

Status check_choice(const OpInfo& op, const AttributeSchema& schema, const Attribute& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || schema.choices.empty()) return {};
  if (std::find(schema.choices.begin(), schema.choices.end(), *text) != schema.choices.end()) return {};
  std::string choices;
  for (const std::string& choice : schema.choices) choices += (choices.empty() ? "" : ", ") + choice;
  return fail(ErrorCode::kInvalidArgument, "{}: attribute {} is \"{}\", expected one of {}", op.name,
              schema.name, *text, choices);
}

}  // namespace

std::span<const OpInfo> op_table() {
  static const std::vector<OpInfo> table = make_table();
  return table;
}

const OpInfo* find_op(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const OpInfo*> map;
    for (const OpInfo& op : op_table()) map.emplace(op.name, &op);
    return map;
  }();
  const auto found = index.find(name);
  return found != index.end() ? found->second : nullptr;
}

Result<Attributes> normalize_attributes(const OpInfo& op, Attributes attributes) {
  for (size_t i = 0; i < attributes.size(); ++i) {
    const std::string& name = attributes[i].first;
    if (std::none_of(op.attributes.begin(), op.attributes.end(),
                     [&](const auto& a) { return a.name == name; }))
      return fail(ErrorCode::kInvalidArgument, "{}: has no attribute {}", op.name, name);
    for (size_t j = 0; j < i; ++j)
      if (attributes[j].first == name)
        return fail(ErrorCode::kInvalidArgument, "{}: attribute {} is given twice", op.name, name);
  }
  Attributes result;
  for (const AttributeSchema& schema : op.attributes) {
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const auto& a) { return a.first == schema.name; });
    if (found == attributes.end() || std::holds_alternative<std::monostate>(found->second)) {
      if (schema.required)
        return fail(ErrorCode::kInvalidArgument, "{}: attribute {} is missing", op.name, schema.name);
      if (found != attributes.end() && !std::holds_alternative<std::monostate>(schema.default_value))
        return fail(ErrorCode::kInvalidArgument, "{}: attribute {} is none, expected {}", op.name,
                    schema.name, kind_name(schema.kind));
      continue;
    }
    if (!widen(schema.kind, found->second))
      return fail(ErrorCode::kInvalidArgument, "{}: attribute {} has another type, expected {}", op.name,
                  schema.name, kind_name(schema.kind));
    EDGE_INFER_RETURN_IF_ERROR(check_choice(op, schema, found->second));
    if (schema.required || found->second != schema.default_value) result.push_back(std::move(*found));
  }
  return result;
}

Status check_operands(const OpInfo& op, std::span<const ValueId> inputs) {
  const bool variadic = !op.operands.empty() && op.operands.back().variadic;
  if (variadic ? inputs.size() < op.operands.size() : inputs.size() != op.operands.size())
    return fail(ErrorCode::kInvalidArgument, "{}: {} operands, expected {}{}", op.name, inputs.size(),
                op.operands.size(), variadic ? " or more" : "");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const OperandSchema& schema = op.operands[std::min(i, op.operands.size() - 1)];
    if (inputs[i] == kNoValue && !schema.optional)
      return fail(ErrorCode::kInvalidArgument, "{}: operand {} is none", op.name, schema.name);
  }
  return {};
}

Result<std::vector<TensorType>> infer_types(const Graph& graph, const Node& node) {
  std::vector<const TensorType*> inputs;
  for (const ValueId id : node.inputs) inputs.push_back(id == kNoValue ? nullptr : &graph.value(id).type);
  auto types = node.op->infer({*node.op, inputs, node, graph.symbols()});
  if (!types) return fail_with_context(types.error(), node.op->name);
  for (const TensorType& type : *types)
    if (type.rank() > kMaxRank)
      return fail(ErrorCode::kInvalidArgument, "{}: the result has {} dimensions, at most {} are allowed",
                  node.op->name, type.rank(), kMaxRank);
  return types;
}

}  // namespace edge_infer
