// Pointwise ops, casts and fills.
#include <array>
#include <optional>

#include "compiler/fallback/lowering.h"

namespace edge_infer::fallback {
namespace {

// What an op's kernel computes in, from its operands and result.
enum class Compute {
  kResult,    // arithmetic: the result's dtype
  kOperands,  // comparisons and logic: the operands' common dtype; the result is bool
};

struct PointwiseRow {
  std::string_view op;
  Compute compute;
  int64_t cost;  // of 16 elements, in ns of one core
};

constexpr std::array kRows = {
    PointwiseRow{"aten.add", Compute::kResult, 4},
    PointwiseRow{"aten.sub", Compute::kResult, 4},
    PointwiseRow{"aten.mul", Compute::kResult, 4},
    PointwiseRow{"aten.div", Compute::kResult, 6},
    PointwiseRow{"aten.pow", Compute::kResult, 60},
    PointwiseRow{"aten.maximum", Compute::kResult, 4},
    PointwiseRow{"aten.minimum", Compute::kResult, 4},
    PointwiseRow{"aten.remainder", Compute::kResult, 10},
    PointwiseRow{"aten.atan2", Compute::kResult, 80},
    PointwiseRow{"aten.neg", Compute::kResult, 4},
    PointwiseRow{"aten.abs", Compute::kResult, 4},
    PointwiseRow{"aten.sign", Compute::kResult, 4},
    PointwiseRow{"aten.sqrt", Compute::kResult, 8},
    PointwiseRow{"aten.rsqrt", Compute::kResult, 10},
    PointwiseRow{"aten.reciprocal", Compute::kResult, 6},
    PointwiseRow{"aten.exp", Compute::kResult, 8},
    PointwiseRow{"aten.exp2", Compute::kResult, 8},
    PointwiseRow{"aten.log", Compute::kResult, 10},
    PointwiseRow{"aten.log1p", Compute::kResult, 14},
    PointwiseRow{"aten.tanh", Compute::kResult, 12},
    PointwiseRow{"aten.erf", Compute::kResult, 14},
    PointwiseRow{"aten.sin", Compute::kResult, 14},
    PointwiseRow{"aten.cos", Compute::kResult, 14},
    PointwiseRow{"aten.floor", Compute::kResult, 4},
    PointwiseRow{"aten.ceil", Compute::kResult, 4},
    PointwiseRow{"aten.round", Compute::kResult, 4},
    PointwiseRow{"aten.sigmoid", Compute::kResult, 12},
    PointwiseRow{"aten.relu", Compute::kResult, 4},
    PointwiseRow{"aten.silu", Compute::kResult, 14},
    PointwiseRow{"aten.bitwise_and", Compute::kResult, 4},
    PointwiseRow{"aten.bitwise_or", Compute::kResult, 4},
    PointwiseRow{"aten.bitwise_xor", Compute::kResult, 4},
    PointwiseRow{"aten.eq", Compute::kOperands, 4},
    PointwiseRow{"aten.ne", Compute::kOperands, 4},
    PointwiseRow{"aten.lt", Compute::kOperands, 4},
    PointwiseRow{"aten.le", Compute::kOperands, 4},
    PointwiseRow{"aten.gt", Compute::kOperands, 4},
    PointwiseRow{"aten.ge", Compute::kOperands, 4},
    PointwiseRow{"aten.logical_and", Compute::kOperands, 4},
    PointwiseRow{"aten.logical_or", Compute::kOperands, 4},
    PointwiseRow{"aten.logical_not", Compute::kOperands, 4},
    PointwiseRow{"aten.isnan", Compute::kOperands, 4},
    PointwiseRow{"aten.gelu", Compute::kResult, 16},
    PointwiseRow{"aten.clamp", Compute::kResult, 4},
    PointwiseRow{"aten.clamp_min", Compute::kResult, 4},
    PointwiseRow{"aten.clamp_max", Compute::kResult, 4},
    PointwiseRow{"aten.where", Compute::kResult, 4},
};

constexpr std::array<std::string_view, 12> kScalarOps = {
    "aten.add.Scalar", "aten.sub.Scalar",       "aten.mul.Scalar", "aten.div.Scalar",
    "aten.pow.Scalar", "aten.remainder.Scalar", "aten.eq.Scalar",  "aten.ne.Scalar",
    "aten.lt.Scalar",  "aten.le.Scalar",        "aten.gt.Scalar",  "aten.ge.Scalar"};

const PointwiseRow* find_row(std::string_view op) {
  for (const PointwiseRow& row : kRows)
    if (row.op == op) return &row;
  return nullptr;
}

bool is_comparison(std::string_view op) {
  const std::string_view base = op.substr(5, 2);
  return base == "eq" || base == "ne" || base == "lt" || base == "le" || base == "gt" || base == "ge";
}

double as_double(const Attribute& a) {
  if (const auto* d = std::get_if<double>(&a)) return *d;
  if (const auto* i = std::get_if<int64_t>(&a)) return static_cast<double>(*i);
  if (const auto* b = std::get_if<bool>(&a)) return *b ? 1.0 : 0.0;
  return 0.0;
}

// Emits one pointwise call of `kernel` computing in `dtype` over operands already in buffers, and casts the
// result where the kernel's own result type is not the value's.
void emit_pointwise(Lowering& l, const Node& node, std::string kernel, DType dtype,
                    std::vector<int32_t> operands, std::span<const std::vector<SymInt>> operand_sizes,
                    std::vector<SymInt> attributes, bool bool_result, int64_t cost) {
  const TensorType& out = l.output_type(node);
  const DType produced = bool_result ? DType::kBool : dtype;
  const bool direct = produced == out.dtype;
  const int32_t target = direct ? l.result(node.outputs[0]) : l.temp(produced, out.sizes);
  Emit call{.kernel = fmt::format("{}.{}", kernel, dtype_name(dtype)), .buffers = {target}};
  call.buffers.insert(call.buffers.end(), operands.begin(), operands.end());
  call.integers = {out.rank()};
  append(call.integers, out.sizes);
  for (const auto& sizes : operand_sizes) append(call.integers, broadcast_strides(sizes, out.sizes));
  append(call.integers, attributes);
  call.rows = product(out.sizes);
  call.row_grain = 64;
  call.row_cost = cost >= 16 ? cost / 16 : 1;
  l.emit(std::move(call));
  if (!direct) l.cast(target, produced, l.result(node.outputs[0]), out.dtype, out.sizes);
}

// The dtype in which operands are compared.
DType common_dtype(const Lowering& l, const Node& node) {
  DType best = l.input_type(node, 0).dtype;
  const auto rank = [](DType t) {
    switch (t) {
      case DType::kBool:
        return 0;
      case DType::kU8:
        return 1;
      case DType::kI8:
        return 2;
      case DType::kI16:
        return 3;
      case DType::kI32:
        return 4;
      case DType::kI64:
        return 5;
      case DType::kF16:
        return 6;
      case DType::kBF16:
        return 7;
      case DType::kF32:
        return 8;
      case DType::kF64:
        return 9;
    }
    return 0;
  };
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const DType t = l.input_type(node, i).dtype;
    if ((best == DType::kF16 && t == DType::kBF16) || (best == DType::kBF16 && t == DType::kF16))
      best = DType::kF32;
    if ((best == DType::kU8 && t == DType::kI8) || (best == DType::kI8 && t == DType::kU8))
      best = DType::kI16;
    if (rank(t) > rank(best)) best = t;
  }
  return best;
}

std::vector<SymInt> pointwise_attributes(const Node& node, std::string& kernel) {
  const std::string& op = node.op->name;
  if (op == "aten.gelu") return {attribute_as<std::string>(node, "approximate") == "tanh" ? 1 : 0};
  if (!op.starts_with("aten.clamp")) return {};
  kernel = "aten.clamp";
  std::optional<double> low, high;
  for (const auto& [name, value] : node.attributes) {
    if (name == "min") low = as_double(value);
    if (name == "max") high = as_double(value);
  }
  return {low ? 1 : 0, double_bits(low.value_or(0)), high ? 1 : 0, double_bits(high.value_or(0))};
}

Status lower_pointwise(Lowering& l, const Node& node) {
  const PointwiseRow& row = *find_row(node.op->name);
  const bool bool_result = row.compute == Compute::kOperands;
  const DType dtype = compute_dtype(bool_result ? common_dtype(l, node) : l.output_type(node).dtype);
  std::string kernel = node.op->name;
  std::vector<SymInt> attributes = pointwise_attributes(node, kernel);
  std::vector<int32_t> operands;
  std::vector<std::vector<SymInt>> sizes;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool condition = node.op->name == "aten.where" && i == 0;
    operands.push_back(l.in_dtype(node.inputs[i], condition ? DType::kBool : dtype));
    sizes.push_back(l.input_type(node, i).sizes);
  }
  // alpha of aten.add and aten.sub other than 1 is a product in front, as in ATen's definition.
  if (kernel == "aten.add" || kernel == "aten.sub") {
    for (const auto& [name, value] : node.attributes) {
      if (name != "alpha" || as_double(value) == 1.0) continue;
      const int32_t scaled = l.temp(dtype, sizes[1]);
      Emit call{.kernel = fmt::format("aten.mul.Scalar.{}", dtype_name(dtype)),
                .buffers = {scaled, operands[1]}};
      call.integers = {static_cast<int64_t>(sizes[1].size())};
      append(call.integers, sizes[1]);
      append(call.integers, dense_strides(sizes[1]));
      call.integers.push_back(double_bits(as_double(value)));
      call.rows = product(sizes[1]);
      call.row_grain = 64;
      l.emit(std::move(call));
      operands[1] = scaled;
    }
  }
  emit_pointwise(l, node, std::move(kernel), dtype, std::move(operands), sizes, std::move(attributes),
                 bool_result, row.cost);
  return {};
}

Status lower_scalar(Lowering& l, const Node& node) {
  const std::string& op = node.op->name;
  const bool compare = is_comparison(op);
  const Attribute* scalar = nullptr;
  for (const AttributeSchema& schema : node.op->attributes)
    if (scalar == nullptr) scalar = &attribute(node, schema.name);
  if (scalar == nullptr) return l.unsupported(node, "no scalar attribute");
  const DType input = l.input_type(node, 0).dtype;
  DType dtype = l.output_type(node).dtype;
  if (compare) dtype = std::holds_alternative<double>(*scalar) && !is_floating(input) ? DType::kF32 : input;
  dtype = compute_dtype(dtype);
  if (dtype == DType::kBool) dtype = DType::kI64;
  const std::vector<SymInt> sizes[] = {l.input_type(node, 0).sizes};
  emit_pointwise(l, node, op, dtype, {l.in_dtype(node.inputs[0], dtype)}, sizes,
                 {double_bits(as_double(*scalar))}, compare, 4);
  return {};
}

Status lower_cast(Lowering& l, const Node& node) {
  const TensorType& in = l.input_type(node, 0);
  const TensorType& out = l.output_type(node);
  if (in.dtype == out.dtype)
    l.alias(node.outputs[0], l.buffer(node.inputs[0]));
  else
    l.cast(l.buffer(node.inputs[0]), in.dtype, l.result(node.outputs[0]), out.dtype, out.sizes);
  return {};
}

// The attribute as aten.full's kernel of `dtype` takes it: integers wrap, numbers saturate to the type.
SymInt scalar_bits(const Attribute& value, DType dtype) {
  if (is_floating(dtype)) return double_bits(as_double(value));
  if (dtype == DType::kBool) return as_double(value) != 0 ? 1 : 0;
  if (const auto* i = std::get_if<int64_t>(&value)) return *i;
  const double x = as_double(value);
  if (x != x) return 0;
  const bool is_signed = dtype != DType::kU8;
  const int64_t most =
      static_cast<int64_t>(~uint64_t{0} >> (64 - dtype_size(dtype) * 8 + (is_signed ? 1 : 0)));
  const int64_t least = is_signed ? -most - 1 : 0;
  return x >= static_cast<double>(most)    ? most
         : x <= static_cast<double>(least) ? least
                                           : static_cast<int64_t>(x);
}

Status lower_full(Lowering& l, const Node& node) {
  const TensorType& out = l.output_type(node);
  l.emit({.kernel = fmt::format("aten.full.{}", dtype_name(out.dtype)),
          .buffers = {l.result(node.outputs[0])},
          .integers = {scalar_bits(attribute(node, "fill_value"), out.dtype)},
          .rows = product(out.sizes),
          .row_grain = 64});
  return {};
}

// Start and step are integers of any size symbol: the range is made in i64 and cast.
Status lower_arange(Lowering& l, const Node& node) {
  const TensorType& out = l.output_type(node);
  const bool direct = out.dtype == DType::kI64;
  const int32_t target = direct ? l.result(node.outputs[0]) : l.temp(DType::kI64, out.sizes);
  l.emit({.kernel = "aten.arange.i64",
          .buffers = {target},
          .integers = {attribute_as<SymInt>(node, "start"), attribute_as<int64_t>(node, "step")},
          .rows = product(out.sizes),
          .row_grain = 64});
  if (!direct) l.cast(target, DType::kI64, l.result(node.outputs[0]), out.dtype, out.sizes);
  return {};
}

}  // namespace

LowerFn find_pointwise(std::string_view op) {
  if (find_row(op) != nullptr) return lower_pointwise;
  for (const std::string_view name : kScalarOps)
    if (name == op) return lower_scalar;
  if (op == "aten._to_copy") return lower_cast;
  if (op == "aten.full") return lower_full;
  if (op == "aten.arange") return lower_arange;
  return nullptr;
}

}  // namespace edge_infer::fallback
