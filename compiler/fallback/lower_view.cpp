// Views: the element order is kept (alias) or not (one strided copy); cat and split.
#include "compiler/fallback/lowering.h"

namespace edge_infer::fallback {
namespace {

Status lower_alias(Lowering& l, const Node& node) {
  l.alias(node.outputs[0], l.buffer(node.inputs[0]));
  return {};
}

void strided(Lowering& l, const Node& node, const std::vector<SymInt>& strides, const SymInt& offset) {
  const TensorType& out = l.output_type(node);
  l.copy(l.result(node.outputs[0]), l.buffer(node.inputs[0]), out.dtype, out.sizes, strides, offset);
}

Status lower_permute(Lowering& l, const Node& node) {
  const TensorType& in = l.input_type(node, 0);
  const std::vector<SymInt> dense = dense_strides(in.sizes);
  std::vector<SymInt> strides;
  for (const int64_t d : attribute_as<std::vector<int64_t>>(node, "dims"))
    strides.push_back(dense[normalize_dim(d, in.rank())]);
  strided(l, node, strides, 0);
  return {};
}

Status lower_transpose(Lowering& l, const Node& node) {
  const TensorType& in = l.input_type(node, 0);
  std::vector<SymInt> strides = dense_strides(in.sizes);
  std::swap(strides[normalize_dim(attribute_as<int64_t>(node, "dim0"), in.rank())],
            strides[normalize_dim(attribute_as<int64_t>(node, "dim1"), in.rank())]);
  strided(l, node, strides, 0);
  return {};
}

// A size attribute; 0 where it is `none`.
SymInt sym_attribute(const Node& node, std::string_view name) {
  const Attribute& a = attribute(node, name);
  if (const auto* i = std::get_if<int64_t>(&a)) return *i;
  const auto* size = std::get_if<SymInt>(&a);
  return size != nullptr ? *size : SymInt(0);
}

Status lower_slice(Lowering& l, const Node& node) {
  const TensorType& in = l.input_type(node, 0);
  const size_t dim = normalize_dim(attribute_as<int64_t>(node, "dim"), in.rank());
  std::vector<SymInt> strides = dense_strides(in.sizes);
  const SymInt step = attribute_as<int64_t>(node, "step");
  SymInt start = sym_attribute(node, "start");
  if (const auto c = start.constant(); c && *c < 0) start = max(start + in.sizes[dim], 0);
  start = min(start, in.sizes[dim]);
  const SymInt offset = start * strides[dim];
  strides[dim] = strides[dim] * step;
  strided(l, node, strides, offset);
  return {};
}

Status lower_select(Lowering& l, const Node& node) {
  const TensorType& in = l.input_type(node, 0);
  const size_t dim = normalize_dim(attribute_as<int64_t>(node, "dim"), in.rank());
  std::vector<SymInt> strides = dense_strides(in.sizes);
  SymInt index = sym_attribute(node, "index");
  if (const auto c = index.constant(); c && *c < 0) index = index + in.sizes[dim];
  const SymInt offset = index * strides[dim];
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(dim));
  strided(l, node, strides, offset);
  return {};
}

Status lower_expand(Lowering& l, const Node& node) {
  strided(l, node, broadcast_strides(l.input_type(node, 0).sizes, l.output_type(node).sizes), 0);
  return {};
}

Status lower_split(Lowering& l, const Node& node) {
  const TensorType& in = l.input_type(node, 0);
  const size_t dim = normalize_dim(attribute_as<int64_t>(node, "dim"), in.rank());
  const std::vector<SymInt> strides = dense_strides(in.sizes);
  SymInt start = 0;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorType& out = l.output_type(node, i);
    l.copy(l.result(node.outputs[i]), l.buffer(node.inputs[0]), out.dtype, out.sizes, strides,
           start * strides[dim]);
    start = start + out.sizes[dim];
  }
  return {};
}

Status lower_cat(Lowering& l, const Node& node) {
  const TensorType& out = l.output_type(node);
  const size_t dim = normalize_dim(attribute_as<int64_t>(node, "dim"), out.rank());
  const std::vector<SymInt> strides = dense_strides(out.sizes);
  const int32_t target = l.result(node.outputs[0]);
  SymInt start = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorType& in = l.input_type(node, i);
    Emit call{.kernel = fmt::format("edge.copy_into.b{}", dtype_size(out.dtype)),
              .buffers = {target, l.in_dtype(node.inputs[i], out.dtype)}};
    call.integers = {in.rank()};
    append(call.integers, in.sizes);
    append(call.integers, strides);
    call.integers.push_back(start * strides[dim]);
    call.rows = product(in.sizes);
    call.row_grain = 64;
    l.emit(std::move(call));
    start = start + in.sizes[dim];
  }
  return {};
}

struct Row {
  std::string_view op;
  LowerFn lower;
};
constexpr Row kRows[] = {
    {"aten.view", lower_alias},      {"aten.unsqueeze", lower_alias},
    {"aten.squeeze", lower_alias},   {"aten.clone", lower_alias},
    {"aten.permute", lower_permute}, {"aten.transpose", lower_transpose},
    {"aten.slice", lower_slice},     {"aten.select", lower_select},
    {"aten.expand", lower_expand},   {"aten.split_with_sizes", lower_split},
    {"aten.cat", lower_cat},
};

}  // namespace

LowerFn find_view(std::string_view op) {
  for (const Row& row : kRows)
    if (row.op == op) return row.lower;
  return nullptr;
}

}  // namespace edge_infer::fallback
