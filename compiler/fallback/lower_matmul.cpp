// Matrix products: packed linear layers, strided products, dense attention.
#include <cmath>

#include "compiler/fallback/lowering.h"

namespace edge_infer::fallback {
namespace {

// A dense buffer seen as a batch of matrices.
struct Matrices {
  int32_t buffer;
  std::vector<SymInt> batch;                                // sizes in front of the last two
  SymInt rows, columns, row_stride, column_stride, matrix;  // matrix: elements of one
};

// ns for `flops` multiply-adds of the prebuilt GEMM on one core, roughly.
SymInt product_cost(const SymInt& flops) {
  return max(floordiv(flops, 32), 1);
}

// The value as matrices of `dtype`; a vector becomes a row (left operand) or a column (right operand).
Matrices matrices(Lowering& l, ValueId v, bool left, DType dtype = DType::kF32) {
  const TensorType& t = l.type(v);
  Matrices m;
  m.buffer = l.in_dtype(v, dtype);
  if (t.rank() == 1) {
    m.rows = left ? SymInt(1) : t.sizes[0];
    m.columns = left ? t.sizes[0] : SymInt(1);
  } else {
    const size_t r = t.sizes.size();
    m.batch.assign(t.sizes.begin(), t.sizes.end() - 2);
    m.rows = t.sizes[r - 2];
    m.columns = t.sizes[r - 1];
  }
  m.row_stride = m.columns;
  m.column_stride = 1;
  m.matrix = m.rows * m.columns;
  return m;
}

std::vector<SymInt> batch_strides(const Matrices& m, const std::vector<SymInt>& batch) {
  std::vector<SymInt> strides = broadcast_strides(m.batch, batch);
  for (SymInt& s : strides) s = s * m.matrix;
  return strides;
}

// target (dense [batch, M, N] of `dtype`) = a b.
void emit_product(Lowering& l, int32_t target, const Matrices& a, const Matrices& b,
                  const std::vector<SymInt>& batch, DType dtype = DType::kF32) {
  Emit call{.kernel = fmt::format("aten.matmul.{}", dtype_name(dtype)),
            .buffers = {target, a.buffer, b.buffer}};
  call.integers = {static_cast<int64_t>(batch.size())};
  append(call.integers, batch);
  append(call.integers, batch_strides(a, batch));
  append(call.integers, batch_strides(b, batch));
  append(call.integers,
         {a.rows, b.columns, a.columns, a.row_stride, a.column_stride, b.row_stride, b.column_stride});
  call.rows = product(batch) * a.rows;
  call.row_grain = l.target().gemm_rows;
  call.row_cost = product_cost(b.columns * a.columns);
  l.emit(std::move(call));
}

std::vector<SymInt> broadcast(const std::vector<SymInt>& a, const std::vector<SymInt>& b) {
  std::vector<SymInt> out = a.size() >= b.size() ? a : b;
  const std::vector<SymInt>& other = a.size() >= b.size() ? b : a;
  const size_t missing = out.size() - other.size();
  for (size_t d = missing; d < out.size(); ++d)
    if (out[d].constant() == 1) out[d] = other[d - missing];
  return out;
}

// Where an f32 product is computed: the result itself, or a temp that is cast to it afterwards.
int32_t f32_result(Lowering& l, const Node& node) {
  const TensorType& out = l.output_type(node);
  return out.dtype == DType::kF32 ? l.result(node.outputs[0]) : l.temp(DType::kF32, out.sizes);
}
void finish_f32(Lowering& l, const Node& node, int32_t computed) {
  const TensorType& out = l.output_type(node);
  if (out.dtype != DType::kF32)
    l.cast(computed, DType::kF32, l.result(node.outputs[0]), out.dtype, out.sizes);
}

Status lower_matmul(Lowering& l, const Node& node) {
  const TensorType& out = l.output_type(node);
  // Bools are counted, and any count but 0 is true.
  const DType dtype = out.dtype == DType::kBool ? DType::kI32 : compute_dtype(out.dtype);
  const Matrices a = matrices(l, node.inputs[0], true, dtype), b = matrices(l, node.inputs[1], false, dtype);
  const int32_t target = out.dtype == dtype ? l.result(node.outputs[0]) : l.temp(dtype, out.sizes);
  emit_product(l, target, a, b, broadcast(a.batch, b.batch), dtype);
  if (out.dtype != dtype) l.cast(target, dtype, l.result(node.outputs[0]), out.dtype, out.sizes);
  return {};
}

// target = target + other, with other broadcast.
void emit_add(Lowering& l, int32_t target, int32_t sum, const std::vector<SymInt>& sizes, int32_t other,
              const std::vector<SymInt>& other_sizes) {
  Emit call{.kernel = "aten.add.f32", .buffers = {target, sum, other}};
  call.integers = {static_cast<int64_t>(sizes.size())};
  append(call.integers, sizes);
  append(call.integers, dense_strides(sizes));
  append(call.integers, broadcast_strides(other_sizes, sizes));
  call.rows = product(sizes);
  call.row_grain = 64;
  l.emit(std::move(call));
}

// target = in * factor.
void emit_scaled(Lowering& l, int32_t target, int32_t in, const std::vector<SymInt>& sizes, double factor) {
  Emit call{.kernel = "aten.mul.Scalar.f32", .buffers = {target, in}};
  call.integers = {static_cast<int64_t>(sizes.size())};
  append(call.integers, sizes);
  append(call.integers, dense_strides(sizes));
  call.integers.push_back(double_bits(factor));
  call.rows = product(sizes);
  call.row_grain = 64;
  l.emit(std::move(call));
}

Status lower_addmm(Lowering& l, const Node& node) {
  if (l.output_type(node).dtype == DType::kF64 || !is_floating(l.output_type(node).dtype))
    return l.unsupported(node, "operands that are not f32, f16 or bf16");
  const double alpha = attribute_as<double>(node, "alpha"), beta = attribute_as<double>(node, "beta");
  const std::vector<SymInt>& sizes = l.output_type(node).sizes;
  const int32_t target = f32_result(l, node);
  // beta 0 means that the first operand is not read, NaN or not.
  const int32_t sum = beta == 0 && alpha == 1 ? target : l.temp(DType::kF32, sizes);
  emit_product(l, sum, matrices(l, node.inputs[1], true), matrices(l, node.inputs[2], false), {});
  int32_t scaled = sum;
  if (alpha != 1) {
    scaled = beta == 0 ? target : l.temp(DType::kF32, sizes);
    emit_scaled(l, scaled, sum, sizes, alpha);
  }
  if (beta != 0) {
    int32_t other = l.in_dtype(node.inputs[0], DType::kF32);
    const std::vector<SymInt>& other_sizes = l.input_type(node, 0).sizes;
    if (beta != 1) {
      const int32_t times_beta = l.temp(DType::kF32, other_sizes);
      emit_scaled(l, times_beta, other, other_sizes, beta);
      other = times_beta;
    }
    emit_add(l, target, scaled, sizes, other, other_sizes);
  }
  finish_f32(l, node, target);
  return {};
}

Status lower_linear(Lowering& l, const Node& node) {
  const TensorType& x = l.input_type(node, 0);
  const TensorType& w = l.input_type(node, 1);
  const TensorType& out = l.output_type(node);
  if (out.dtype == DType::kF64 || !is_floating(out.dtype))
    return l.unsupported(node, "operands that are not f32, f16 or bf16");
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
  const auto n = w.sizes[0].constant(), k = w.sizes[1].constant();
  const SymInt rows = product(x.sizes, 0, x.sizes.size() - 1);
  const int32_t target = f32_result(l, node);
  if (l.is_constant(node.inputs[1]) && w.dtype == DType::kF32 && n && k) {
    Emit call{.kernel = "aten.linear.f32",
              .buffers = {target, l.in_dtype(node.inputs[0], DType::kF32), l.packed_weight(node.inputs[1]),
                          has_bias ? l.in_dtype(node.inputs[2], DType::kF32) : -1},
              .integers = {*n, *k},
              .rows = rows,
              .columns = *n,
              .row_grain = l.target().gemm_rows,
              .column_grain = l.target().gemm_columns,
              .row_cost = product_cost(*n * *k),
              .split = Phase::Split::kRowsColumns};
    l.emit(std::move(call));
  } else {
    Matrices a = matrices(l, node.inputs[0], true);
    a.batch.clear();
    a.rows = rows;
    Matrices b = matrices(l, node.inputs[1], false);
    std::swap(b.rows, b.columns);
    std::swap(b.row_stride, b.column_stride);
    const int32_t sum = has_bias ? l.temp(DType::kF32, out.sizes) : target;
    emit_product(l, sum, a, b, {});
    if (has_bias)
      emit_add(l, target, sum, out.sizes, l.in_dtype(node.inputs[2], DType::kF32),
               l.input_type(node, 2).sizes);
  }
  finish_f32(l, node, target);
  return {};
}

Status lower_sdpa(Lowering& l, const Node& node) {
  const TensorType& q = l.input_type(node, 0);
  const TensorType& k = l.input_type(node, 1);
  const TensorType& v = l.input_type(node, 2);
  const TensorType& out = l.output_type(node);
  if (out.dtype == DType::kF64) return l.unsupported(node, "attention in f64");
  if (q.rank() < 2 || q.rank() > 4) return l.unsupported(node, "operands of a rank other than 2, 3 or 4");
  const size_t r = q.sizes.size();
  const SymInt batch = r == 2 ? SymInt(1) : q.sizes[0];
  const SymInt heads = r == 4 ? q.sizes[1] : SymInt(1), kv_heads = r == 4 ? k.sizes[1] : SymInt(1);
  const auto e = q.sizes[r - 1].constant();
  double scale = 0;
  bool has_scale = false;
  for (const auto& [name, value] : node.attributes)
    if (const auto* d = std::get_if<double>(&value); name == "scale" && d != nullptr)
      scale = *d, has_scale = *d != 0;
  if (!has_scale) {
    if (!e) return l.unsupported(node, "a symbolic head size");
    scale = 1.0 / std::sqrt(static_cast<double>(*e));
  }
  const bool has_mask = node.inputs.size() > 3 && node.inputs[3] != kNoValue;
  int32_t mask = -1;
  int64_t mask_kind = 0;
  std::vector<SymInt> mask_strides(4, SymInt(0));
  if (has_mask) {
    const TensorType& m = l.input_type(node, 3);
    mask_kind = m.dtype == DType::kBool ? 2 : 1;
    mask = mask_kind == 2 ? l.buffer(node.inputs[3]) : l.in_dtype(node.inputs[3], DType::kF32);
    std::vector<SymInt> full(q.sizes.begin(), q.sizes.end() - 1);
    full.push_back(k.sizes[r - 2]);
    std::vector<SymInt> strides = broadcast_strides(m.sizes, full);
    if (r == 2) strides.insert(strides.begin(), SymInt(0));
    if (r < 4) strides.insert(strides.begin() + 1, SymInt(0));
    mask_strides = strides;
  }
  const int32_t target = f32_result(l, node);
  const SymInt length = q.sizes[r - 2];
  Emit call{
      .kernel = "aten.scaled_dot_product_attention.f32",
      .buffers = {target, l.in_dtype(node.inputs[0], DType::kF32), l.in_dtype(node.inputs[1], DType::kF32),
                  l.in_dtype(node.inputs[2], DType::kF32), mask},
      .integers = {batch, heads, kv_heads, length, k.sizes[r - 2], q.sizes[r - 1], v.sizes[r - 1],
                   double_bits(scale), attribute_as<bool>(node, "is_causal") ? 1 : 0, mask_kind}};
  append(call.integers, mask_strides);
  call.rows = batch * heads * length;
  call.row_cost = product_cost(k.sizes[r - 2] * q.sizes[r - 1] * 4);
  l.emit(std::move(call));
  finish_f32(l, node, target);
  return {};
}

}  // namespace

LowerFn find_matmul(std::string_view op) {
  if (op == "aten.mm" || op == "aten.bmm" || op == "aten.matmul") return lower_matmul;
  if (op == "aten.addmm") return lower_addmm;
  if (op == "aten.linear") return lower_linear;
  if (op == "aten.scaled_dot_product_attention") return lower_sdpa;
  return nullptr;
}

}  // namespace edge_infer::fallback
