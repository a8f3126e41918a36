#include <cstring>
#include <utility>

#include "compiler/graph/evaluate.h"
#include "compiler/graph/op_table.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace edge_infer {
namespace {

const Node* producer_of(const Graph& graph, ValueId id, std::string_view op) {
  if (id == kNoValue || graph.value(id).producer == kNoNode) return nullptr;
  const Node& node = graph.node(graph.value(id).producer);
  return node.op->name == op ? &node : nullptr;
}

Result<std::optional<HostTensor>> evaluate_alone(const Node& node, std::span<const HostTensor> inputs,
                                                 const TensorType& type, std::vector<int64_t> sizes) {
  std::vector<const HostTensor*> pointers;
  for (const HostTensor& input : inputs) pointers.push_back(&input);
  EDGE_INFER_ASSIGN(HostTensor out, make_host_tensor(type.dtype, std::move(sizes)));
  const SymbolValues none;
  // What fails when it is evaluated (a remainder by 0) must fail at run time, not here.
  if (!node.op->evaluate({node, pointers, std::span(&out, 1), none})) return std::nullopt;
  return out;
}

Attribute first_element(const HostTensor& tensor) {
  HostTensor one{tensor.dtype, {}, {}};
  one.bytes.assign(tensor.bytes.begin(), tensor.bytes.begin() + dtype_size(tensor.dtype));
  if (is_floating(tensor.dtype)) return one.to_doubles()[0];
  if (tensor.dtype == DType::kBool) return one.to_integers()[0] != 0;
  return one.to_integers()[0];
}

bool is_uniform(const HostTensor& tensor) {
  const auto width = static_cast<size_t>(dtype_size(tensor.dtype));
  for (size_t i = width; i < tensor.bytes.size(); ++i)
    if (tensor.bytes[i] != tensor.bytes[i - width]) return false;
  return !tensor.bytes.empty();
}

ValueId full(GraphBuilder& builder, const TensorType& type, const Attribute& value) {
  return builder.op("aten.full", {}, {{"size", type.sizes}, {"fill_value", value}, {"dtype", type.dtype}});
}

// A pointwise op of uniform operands is uniform, whatever its sizes: one element is computed.
Replacement fold_uniform(GraphBuilder& builder, const Node& node, std::span<const ValueId> inputs) {
  std::vector<HostTensor> ones;
  for (const ValueId id : inputs) {
    const Node* source = producer_of(builder.graph(), id, "aten.full");
    if (source == nullptr) return std::nullopt;
    const TensorType& type = builder.type(id);
    EDGE_INFER_ASSIGN(HostTensor one,
                      make_host_tensor(type.dtype, std::vector<int64_t>(type.sizes.size(), 1)));
    const SymbolValues none;
    EDGE_INFER_RETURN_IF_ERROR(source->op->evaluate({*source, {}, std::span(&one, 1), none}));
    ones.push_back(std::move(one));
  }
  const Node inferred{node.op, {inputs.begin(), inputs.end()}, node.attributes, {}};
  EDGE_INFER_ASSIGN(const auto types, infer_types(builder.graph(), inferred));
  EDGE_INFER_ASSIGN(const auto result,
                    evaluate_alone(node, ones, types[0], std::vector<int64_t>(types[0].sizes.size(), 1)));
  if (!result) return std::nullopt;
  return std::vector{full(builder, types[0], first_element(*result))};
}

std::optional<std::vector<int64_t>> constant_sizes(const TensorType& type, int64_t limit) {
  std::vector<int64_t> sizes;
  int64_t elements = 1;
  for (const SymInt& size : type.sizes) {
    if (!size.constant() || *size.constant() < 0) return std::nullopt;
    sizes.push_back(*size.constant());
    if (__builtin_mul_overflow(elements, sizes.back(), &elements) || elements > limit) return std::nullopt;
  }
  return sizes;
}

// As aten.arange, where the elements are evenly spaced integers.
std::optional<ValueId> as_arange(GraphBuilder& builder, const HostTensor& tensor) {
  if (tensor.sizes.size() != 1 || tensor.sizes[0] < 2 || is_floating(tensor.dtype) ||
      tensor.dtype == DType::kBool)
    return std::nullopt;
  const std::vector<int64_t> values = tensor.to_integers();
  // Far from where differences and lengths would overflow.
  constexpr int64_t kLimit = int64_t{1} << 40;
  for (const int64_t value : values)
    if (value < -kLimit || value > kLimit) return std::nullopt;
  const int64_t step = values[1] - values[0];
  if (step == 0) return std::nullopt;
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i] - values[i - 1] != step) return std::nullopt;
  const int64_t end = values.back() + (step > 0 ? 1 : -1);
  return builder.op(
      "aten.arange", {},
      {{"start", SymInt(values.front())}, {"end", SymInt(end)}, {"step", step}, {"dtype", tensor.dtype}});
}

// Any op of small operands of known sizes.
Replacement fold_small(GraphBuilder& builder, const Node& node, std::span<const ValueId> inputs,
                       int64_t limit) {
  std::vector<HostTensor> operands;
  for (const ValueId id : inputs) {
    const Node* source = producer_of(builder.graph(), id, "aten.full");
    if (source == nullptr) source = producer_of(builder.graph(), id, "aten.arange");
    if (source == nullptr) return std::nullopt;
    const TensorType& type = builder.type(id);
    const auto sizes = constant_sizes(type, limit);
    if (!sizes) return std::nullopt;
    EDGE_INFER_ASSIGN(const auto operand, evaluate_alone(*source, {}, type, *sizes));
    if (!operand) return std::nullopt;
    operands.push_back(*operand);
  }
  const Node inferred{node.op, {inputs.begin(), inputs.end()}, node.attributes, {}};
  EDGE_INFER_ASSIGN(const auto types, infer_types(builder.graph(), inferred));
  const auto sizes = constant_sizes(types[0], limit);
  if (types.size() != 1 || !sizes) return std::nullopt;
  EDGE_INFER_ASSIGN(const auto result, evaluate_alone(node, operands, types[0], *sizes));
  if (!result) return std::nullopt;
  if (is_uniform(*result)) return std::vector{full(builder, types[0], first_element(*result))};
  if (const auto range = as_arange(builder, *result)) return std::vector{*range};
  return std::nullopt;
}

}  // namespace

Result<bool> fold_constants(Graph& graph, const PassContext& context) {
  return rewrite(
      graph, [&](GraphBuilder& builder, const Node& node, std::span<const ValueId> inputs) -> Replacement {
        if (inputs.empty()) return std::nullopt;  // aten.full and aten.arange themselves
        if (node.op->kind == OpKind::kPointwise) {
          EDGE_INFER_ASSIGN(auto uniform, fold_uniform(builder, node, inputs));
          if (uniform) return uniform;
        }
        return fold_small(builder, node, inputs, context.fold_limit);
      });
}

}  // namespace edge_infer
