// Reductions and scans.
#include <algorithm>

#include "compiler/fallback/lowering.h"

namespace edge_infer::fallback {
namespace {

double number(const Attribute& a) {
  if (const auto* d = std::get_if<double>(&a)) return *d;
  if (const auto* i = std::get_if<int64_t>(&a)) return static_cast<double>(*i);
  return 0;
}

// Reduced dimensions: an int list, one int, or absent or empty for all.
std::vector<bool> reduced_dims(const Node& node, int64_t rank) {
  std::vector<bool> reduced(static_cast<size_t>(rank), false);
  std::vector<int64_t> dims;
  for (const auto& [name, value] : node.attributes) {
    if (name != "dim") continue;
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) dims = *list;
    if (const auto* one = std::get_if<int64_t>(&value)) dims = {*one};
  }
  if (dims.empty()) reduced.assign(reduced.size(), true);
  for (const int64_t d : dims) reduced[normalize_dim(d, rank)] = true;
  return reduced;
}

Status lower_reduction(Lowering& l, const Node& node) {
  const TensorType& in = l.input_type(node, 0);
  const TensorType& out = l.output_type(node);
  const std::string& op = node.op->name;
  const bool fixed_result =
      op == "aten.argmax" || op == "aten.argmin" || op == "aten.any" || op == "aten.all";
  // Sums of integers and bools are of the result's type (i64); the others compute in the operand's.
  const DType dtype = compute_dtype(fixed_result ? in.dtype : out.dtype);
  const DType produced = op == "aten.any" || op == "aten.all" ? DType::kBool
                         : fixed_result                       ? DType::kI64
                                                              : dtype;
  const std::vector<bool> reduced = reduced_dims(node, in.rank());
  const std::vector<SymInt> strides = dense_strides(in.sizes);
  std::vector<SymInt> keep_sizes, keep_strides, red_sizes, red_strides;
  for (size_t d = 0; d < in.sizes.size(); ++d) {
    (reduced[d] ? red_sizes : keep_sizes).push_back(in.sizes[d]);
    (reduced[d] ? red_strides : keep_strides).push_back(strides[d]);
  }
  const bool direct = produced == out.dtype;
  const int32_t target = direct ? l.result(node.outputs[0]) : l.temp(produced, out.sizes);
  Emit call{.kernel = fmt::format("{}.{}", op, dtype_name(dtype)),
            .buffers = {target, l.in_dtype(node.inputs[0], dtype)}};
  call.integers = {static_cast<int64_t>(keep_sizes.size())};
  append(call.integers, keep_sizes);
  append(call.integers, keep_strides);
  call.integers.push_back(static_cast<int64_t>(red_sizes.size()));
  append(call.integers, red_sizes);
  append(call.integers, red_strides);
  if (op == "aten.var") call.integers.push_back(double_bits(number(attribute(node, "correction"))));
  if (op == "aten.linalg_vector_norm") call.integers.push_back(double_bits(number(attribute(node, "ord"))));
  call.rows = product(keep_sizes);
  call.row_cost = max(floordiv(product(red_sizes), 8), 1);
  l.emit(std::move(call));
  if (!direct) l.cast(target, produced, l.result(node.outputs[0]), out.dtype, out.sizes);
  return {};
}

Status lower_cumsum(Lowering& l, const Node& node) {
  const TensorType& out = l.output_type(node);
  const DType dtype = compute_dtype(out.dtype);
  const size_t dim = normalize_dim(attribute_as<int64_t>(node, "dim"), out.rank());
  const bool direct = dtype == out.dtype;
  const int32_t target = direct ? l.result(node.outputs[0]) : l.temp(dtype, out.sizes);
  const SymInt outer = product(out.sizes, 0, dim), inner = product(out.sizes, dim + 1);
  Emit call{.kernel = fmt::format("aten.cumsum.{}", dtype_name(dtype)),
            .buffers = {target, l.in_dtype(node.inputs[0], dtype)},
            .integers = {outer, out.sizes[dim], inner},
            .rows = outer * inner};
  l.emit(std::move(call));
  if (!direct) l.cast(target, dtype, l.result(node.outputs[0]), out.dtype, out.sizes);
  return {};
}

constexpr std::string_view kReductions[] = {"aten.sum",    "aten.mean",  "aten.amax",
                                            "aten.amin",   "aten.prod",  "aten.any",
                                            "aten.all",    "aten.var",   "aten.linalg_vector_norm",
                                            "aten.argmax", "aten.argmin"};

}  // namespace

LowerFn find_reduction(std::string_view op) {
  if (std::ranges::find(kReductions, op) != std::end(kReductions)) return lower_reduction;
  if (op == "aten.cumsum") return lower_cumsum;
  return nullptr;
}

}  // namespace edge_infer::fallback
