#include "tests/support/cuda/attention_nests.h"

#include <fmt/format.h>

#include <cmath>

namespace edge_infer::test {

std::string AttentionShape::label() const {
  return fmt::format("attention {} -> {}, {} heads of {}, {} of keys{}{}{}{}", dtype_name(dtype),
                     dtype_name(out), heads, dim, kv_heads, causal ? ", causal" : "",
                     packed ? "" : ", three buffers", block_rows == 64 ? "" : ", short units",
                     offsets == DType::kI64 ? ", i64 offsets" : "");
}

loop::LoopNest attention_nest(const AttentionShape& shape) {
  loop::LoopNest nest;
  nest.name = "attention";
  nest.accumulation_class = "f32.k1";
  nest.symbols = {{"T", {1, 16384}, 128}, {"B", {1, 1024}, 1}, {"U", {0, 1 << 20}, 2}};
  const SymInt t = SymInt::symbol("T"), units = SymInt::symbol("U");
  const int64_t q_width = shape.heads * shape.dim, kv_width = shape.kv_heads * shape.dim;
  const auto add = [&](loop::Access access, DType dtype, std::vector<SymInt> sizes) {
    nest.buffers.push_back({access, dtype, std::move(sizes)});
    return static_cast<int32_t>(nest.buffers.size()) - 1;
  };
  loop::Attention a;
  if (shape.packed) {
    const int64_t row = q_width + 2 * kv_width;
    const int32_t qkv = add(loop::Access::kIn, shape.dtype, {t, row});
    a.q = {qkv, row, 0};
    a.k = {qkv, row, q_width};
    a.v = {qkv, row, q_width + kv_width};
  } else {
    a.q = {add(loop::Access::kIn, shape.dtype, {t, q_width}), q_width, 0};
    a.k = {add(loop::Access::kIn, shape.dtype, {t, kv_width}), kv_width, 0};
    a.v = {add(loop::Access::kIn, shape.dtype, {t, kv_width}), kv_width, 0};
  }
  a.cu = add(loop::Access::kIndex, shape.offsets, {SymInt::symbol("B") + 1});
  a.units = add(loop::Access::kIndex, DType::kI32, {units, 2});
  a.out = {add(loop::Access::kOut, shape.out, {t, q_width}), q_width, 0};
  a.heads = shape.heads;
  a.kv_heads = shape.kv_heads;
  a.dim = shape.dim;
  a.block_rows = shape.block_rows;
  a.scale = shape.scale != 0 ? shape.scale : 1 / std::sqrt(static_cast<double>(shape.dim));
  a.causal = shape.causal;
  nest.axes.push_back({"m", loop::AxisKind::kWork, 0, units * SymInt(shape.heads)});
  loop::For work{0, {}};
  work.body.push_back({a});
  nest.body.push_back({std::move(work)});
  return nest;
}

std::vector<AttentionShape> attention_shapes() {
  constexpr DType kHalf = DType::kF16, kBrain = DType::kBF16, kSingle = DType::kF32;
  std::vector<AttentionShape> shapes;
  for (const int64_t dim : {32, 64, 96, 128}) {
    shapes.push_back({.dim = dim});
    shapes.push_back({.dim = dim, .heads = 4, .kv_heads = 2, .dtype = kBrain, .out = kBrain, .causal = true});
  }
  shapes.push_back({.dim = 32, .heads = 12, .kv_heads = 12});
  shapes.push_back({.dim = 64, .heads = 3, .kv_heads = 1, .out = kSingle, .causal = true, .packed = false});
  shapes.push_back({.dim = 64, .heads = 2, .kv_heads = 2, .out = kSingle});
  shapes.push_back({.dim = 128, .heads = 2, .kv_heads = 1, .dtype = kBrain, .out = kSingle, .packed = false});
  shapes.push_back({.dim = 64, .packed = false, .offsets = DType::kI64, .scale = 0.7});
  // mma.sync on every target.
  for (const int64_t dim : {16, 48, 80, 112})
    shapes.push_back({.dim = dim,
                      .heads = 2,
                      .kv_heads = 1,
                      .dtype = dim == 48 ? kBrain : kHalf,
                      .out = dim == 48 ? kBrain : kHalf,
                      .causal = dim == 80});
  // No tensor cores.
  for (const int64_t dim : {20, 32, 64, 128, 256})
    shapes.push_back({.dim = dim,
                      .heads = 2,
                      .kv_heads = dim == 64 ? 1 : 2,
                      .dtype = kSingle,
                      .out = kSingle,
                      .causal = dim == 32});
  shapes.push_back({.dim = 20, .heads = 3, .kv_heads = 3, .packed = false});
  shapes.push_back({.dim = 64, .block_rows = 32});
  shapes.push_back({.dim = 24, .dtype = DType::kF64, .out = DType::kF64, .causal = true});
  return shapes;
}

}  // namespace edge_infer::test
