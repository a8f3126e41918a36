// Ops over whole rows: normalization, softmax, gathers, packed sequences.
#include "compiler/fallback/lowering.h"

namespace edge_infer::fallback {
namespace {

// Computes in f32 into `kernel`'s first buffer and casts where the value is of another floating type.
void emit_f32(Lowering& l, const Node& node, Emit call) {
  const TensorType& out = l.output_type(node);
  const bool direct = out.dtype == DType::kF32;
  const int32_t target = direct ? l.result(node.outputs[0]) : l.temp(DType::kF32, out.sizes);
  call.buffers.insert(call.buffers.begin(), target);
  l.emit(std::move(call));
  if (!direct) l.cast(target, DType::kF32, l.result(node.outputs[0]), out.dtype, out.sizes);
}

Status lower_norm(Lowering& l, const Node& node) {
  const TensorType& x = l.input_type(node, 0);
  if (x.dtype == DType::kF64) return l.unsupported(node, "f64");
  const auto& shape = attribute(node, "normalized_shape");
  size_t dims = 1;
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&shape)) dims = ints->size();
  if (const auto* syms = std::get_if<std::vector<SymInt>>(&shape)) dims = syms->size();
  const SymInt n = product(x.sizes, x.sizes.size() - dims);
  const bool rms = node.op->name == "edge.rms_norm";
  const auto optional = [&](size_t i) {
    return i < node.inputs.size() && node.inputs[i] != kNoValue ? l.in_dtype(node.inputs[i], DType::kF32)
                                                                : -1;
  };
  Emit call{.kernel = node.op->name + ".f32",
            .buffers = {l.in_dtype(node.inputs[0], DType::kF32), optional(1)}};
  if (!rms) call.buffers.push_back(optional(2));
  call.integers = {n, double_bits(attribute_as<double>(node, "eps"))};
  call.rows = product(x.sizes, 0, x.sizes.size() - dims);
  call.row_cost = max(floordiv(n, 4), 1);
  emit_f32(l, node, std::move(call));
  return {};
}

Status lower_softmax(Lowering& l, const Node& node) {
  const TensorType& x = l.input_type(node, 0);
  if (x.dtype == DType::kF64) return l.unsupported(node, "f64");
  const size_t dim = normalize_dim(attribute_as<int64_t>(node, "dim"), x.rank());
  const SymInt outer = product(x.sizes, 0, dim), inner = product(x.sizes, dim + 1);
  Emit call{.kernel = node.op->name + ".f32",
            .buffers = {l.in_dtype(node.inputs[0], DType::kF32)},
            .integers = {outer, x.sizes[dim], inner},
            .rows = outer * inner,
            .row_cost = max(x.sizes[dim], 1)};
  emit_f32(l, node, std::move(call));
  return {};
}

bool is_i64(const Lowering& l, const Node& node, size_t i) {
  return l.input_type(node, i).dtype == DType::kI64;
}

Status lower_embedding(Lowering& l, const Node& node) {
  const TensorType& table = l.input_type(node, 0);
  const TensorType& ids = l.input_type(node, 1);
  if (dtype_size(table.dtype) == 1 || table.dtype == DType::kI16) {
    // No table of these types is hot: rows by their bytes.
    l.emit({.kernel = fmt::format("aten.index_select.b{}", dtype_size(table.dtype)),
            .buffers = {l.result(node.outputs[0]), l.buffer(node.inputs[0]), l.buffer(node.inputs[1])},
            .integers = {1, table.sizes[0], product(ids.sizes), table.sizes[1], is_i64(l, node, 1) ? 1 : 0},
            .rows = product(ids.sizes)});
    return {};
  }
  Emit call{.kernel = fmt::format("aten.embedding.{}", dtype_name(table.dtype)),
            .buffers = {l.result(node.outputs[0]), l.buffer(node.inputs[0]), l.buffer(node.inputs[1])},
            .integers = {table.sizes[1], table.sizes[0], is_i64(l, node, 1) ? 1 : 0},
            .rows = product(ids.sizes),
            .row_cost = max(floordiv(table.sizes[1], 8), 1)};
  l.emit(std::move(call));
  return {};
}

Status lower_index_select(Lowering& l, const Node& node) {
  const TensorType& in = l.input_type(node, 0);
  const TensorType& out = l.output_type(node);
  const size_t dim = normalize_dim(attribute_as<int64_t>(node, "dim"), in.rank());
  const SymInt outer = product(out.sizes, 0, dim), inner = product(out.sizes, dim + 1);
  Emit call{.kernel = fmt::format("aten.index_select.b{}", dtype_size(in.dtype)),
            .buffers = {l.result(node.outputs[0]), l.buffer(node.inputs[0]), l.buffer(node.inputs[1])},
            .integers = {outer, in.sizes[dim], out.sizes[dim], inner, is_i64(l, node, 1) ? 1 : 0},
            .rows = outer * out.sizes[dim],
            .row_cost = max(floordiv(inner, 8), 1)};
  l.emit(std::move(call));
  return {};
}

Status lower_gather(Lowering& l, const Node& node) {
  const TensorType& in = l.input_type(node, 0);
  const TensorType& out = l.output_type(node);
  const size_t dim = normalize_dim(attribute_as<int64_t>(node, "dim"), in.rank());
  Emit call{.kernel = fmt::format("aten.gather.b{}", dtype_size(in.dtype)),
            .buffers = {l.result(node.outputs[0]), l.buffer(node.inputs[0]), l.buffer(node.inputs[1])}};
  call.integers = {out.rank()};
  append(call.integers, out.sizes);
  append(call.integers, dense_strides(in.sizes));
  append(call.integers,
         {SymInt(static_cast<int64_t>(dim)), in.sizes[dim], SymInt(is_i64(l, node, 1) ? 1 : 0)});
  call.rows = product(out.sizes);
  l.emit(std::move(call));
  return {};
}

Status lower_positions(Lowering& l, const Node& node) {
  const TensorType& out = l.output_type(node);
  const TensorType& cu = l.input_type(node, 1);
  Emit call{.kernel = "edge.packed_positions.i32",
            .buffers = {l.result(node.outputs[0]), l.buffer(node.inputs[1])},
            .integers = {out.sizes[0], cu.sizes[0] - 1},
            .rows = out.sizes[0],
            .row_grain = 64};
  l.emit(std::move(call));
  return {};
}

Status lower_varlen_attention(Lowering& l, const Node& node) {
  const int64_t block = l.target().attention_block_rows;
  EDGE_INFER_ASSIGN(const Lowering::Units units, l.units(node.inputs[3], block));
  const int64_t heads = attribute_as<int64_t>(node, "heads"),
                kv_heads = attribute_as<int64_t>(node, "kv_heads");
  const TensorType& q = l.input_type(node, 0);
  const auto width = q.sizes[1].constant();
  if (q.dtype == DType::kF64) return l.unsupported(node, "f64");
  if (!width || heads < 1 || *width % heads != 0)
    return l.unsupported(node, "a head size that is not a number");
  const int64_t dim = *width / heads;
  const SymInt q_stride = q.sizes[1], kv_stride = l.input_type(node, 1).sizes[1];
  Emit call{.kernel = "edge.varlen_attention.f32",
            .buffers = {l.in_dtype(node.inputs[0], DType::kF32), l.in_dtype(node.inputs[1], DType::kF32),
                        l.in_dtype(node.inputs[2], DType::kF32), l.buffer(node.inputs[3]), units.buffer},
            .integers = {heads, kv_heads, dim, q_stride, kv_stride, l.input_type(node, 2).sizes[1], q_stride,
                         double_bits(attribute_as<double>(node, "scale")),
                         attribute_as<bool>(node, "causal") ? 1 : 0, block},
            .rows = units.count,
            .columns = heads,
            // Keys a query sees are not known here; the mean length is about the tokens over the sequences.
            .row_cost = block * dim * heads,
            .split = Phase::Split::kRowsColumns};
  emit_f32(l, node, std::move(call));
  return {};
}

Status lower_segment_pool(Lowering& l, const Node& node) {
  static constexpr std::string_view kModes[] = {"mean", "max",           "cls",          "last",
                                                "sum",  "mean_sqrt_len", "weighted_mean"};
  const std::string& mode = attribute_as<std::string>(node, "mode");
  int64_t index = 0;
  while (index < 7 && kModes[index] != mode) ++index;
  if (index == 7) return l.unsupported(node, "pooling mode \"" + mode + "\"");
  const TensorType& out = l.output_type(node);
  if (out.dtype == DType::kF64) return l.unsupported(node, "f64");
  Emit call{.kernel = "edge.segment_pool.f32",
            .buffers = {l.in_dtype(node.inputs[0], DType::kF32), l.buffer(node.inputs[1])},
            .integers = {out.sizes[1], index},
            .rows = out.sizes[0],
            .row_cost = out.sizes[1] * 4};
  emit_f32(l, node, std::move(call));
  return {};
}

struct Row {
  std::string_view op;
  LowerFn lower;
};
constexpr Row kRows[] = {
    {"aten.layer_norm", lower_norm},
    {"edge.rms_norm", lower_norm},
    {"aten.softmax", lower_softmax},
    {"aten.log_softmax", lower_softmax},
    {"aten.embedding", lower_embedding},
    {"aten.index_select", lower_index_select},
    {"aten.gather", lower_gather},
    {"edge.packed_positions", lower_positions},
    {"edge.varlen_attention", lower_varlen_attention},
    {"edge.segment_pool", lower_segment_pool},
};

}  // namespace

LowerFn find_row_op(std::string_view op) {
  for (const Row& row : kRows)
    if (row.op == op) return row.lower;
  return nullptr;
}

}  // namespace edge_infer::fallback
