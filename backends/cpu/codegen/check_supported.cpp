#include "backends/cpu/codegen/check_supported.h"

#include <algorithm>

#include "backends/cpu/codegen/kernel_text.h"

namespace edge_infer::cpu_codegen {
namespace {

using loop::AxisKind;
using loop::Body;
using loop::LoopNest;
using loop::Stmt;

// Of all locals of a row; with a gemm, of all rows of its block.
constexpr int64_t kMaxScratch = int64_t{16} << 20;
constexpr int64_t kMostBlockRows = 96;

Status check_gemm(const LoopNest& nest, const loop::Gemm& gemm) {
  const loop::Axis &n = nest.axis(gemm.n), &k = nest.axis(gemm.k);
  if (!n.extent.constant() || !k.extent.constant() || n.begin.constant() != 0 || k.begin.constant() != 0)
    return fail(ErrorCode::kUnsupported,
                "slot refused: gemm over {}..{} and {}..{}, expected constants from 0", n.begin.str(),
                n.extent.str(), k.begin.str(), k.extent.str());
  if (*n.extent.constant() < 1 || *k.extent.constant() < 1)
    return fail(ErrorCode::kUnsupported,
                "slot refused: gemm of {} columns over {}, expected at least 1 of each", *n.extent.constant(),
                *k.extent.constant());
  const DType a = nest.expr(gemm.a).dtype, w = nest.buffers[static_cast<size_t>(gemm.weight)].dtype;
  const DType expected = nest.accumulation_class.starts_with("bf16") ? DType::kBF16 : DType::kF32;
  if (a != expected || w != expected)
    return fail(ErrorCode::kUnsupported, "slot refused: gemm of {} and {}, expected {}", dtype_name(a),
                dtype_name(w), dtype_name(expected));
  for (const Stmt& stmt : gemm.body)
    if (!std::holds_alternative<loop::Let>(stmt.node) && !std::holds_alternative<loop::Store>(stmt.node) &&
        !std::holds_alternative<loop::StoreLocal>(stmt.node))
      return fail(ErrorCode::kUnsupported, "slot refused: epilogue with loops or reductions");
  return {};
}

Status check_attention(const LoopNest& nest, const loop::Attention& a) {
  for (const int32_t id : {a.q.buffer, a.k.buffer, a.v.buffer, a.out.buffer})
    if (const DType dtype = nest.buffers[static_cast<size_t>(id)].dtype; dtype != DType::kF32)
      return fail(ErrorCode::kUnsupported, "slot refused: attention of {}, expected f32", dtype_name(dtype));
  for (const int32_t id : {a.cu, a.units})
    if (const DType dtype = nest.buffers[static_cast<size_t>(id)].dtype; dtype != DType::kI32)
      return fail(ErrorCode::kUnsupported, "slot refused: attention over offsets of {}, expected i32",
                  dtype_name(dtype));
  return {};
}

struct Templates {
  int gemms = 0, attentions = 0;
};

Status check_body(const LoopNest& nest, const Body& body, bool in_row, Templates& found) {
  for (const Stmt& stmt : body) {
    if (const auto* inner = std::get_if<loop::For>(&stmt.node)) {
      if (nest.axis(inner->axis).kind != AxisKind::kLane && nest.axis(inner->axis).kind != AxisKind::kSerial)
        return fail(ErrorCode::kUnsupported, "loop over {} inside of a row, expected a lane or serial axis",
                    nest.axis(inner->axis).name);
      EDGE_INFER_RETURN_IF_ERROR(check_body(nest, inner->body, false, found));
    } else if (const auto* gemm = std::get_if<loop::Gemm>(&stmt.node)) {
      if (!in_row || ++found.gemms > 1)
        return fail(ErrorCode::kUnsupported, "slot refused: {}",
                    in_row ? "two gemms in one nest" : "gemm in a loop");
      EDGE_INFER_RETURN_IF_ERROR(check_gemm(nest, *gemm));
    } else if (const auto* attention = std::get_if<loop::Attention>(&stmt.node)) {
      ++found.attentions;
      if (!in_row || body.size() != 1)
        return fail(ErrorCode::kUnsupported, "slot refused: attention beside other statements");
      EDGE_INFER_RETURN_IF_ERROR(check_attention(nest, *attention));
    }
  }
  return {};
}

}  // namespace

Status check_supported(const LoopNest& nest, std::string_view bf16_class) {
  const auto* rows = nest.body.size() == 1 ? std::get_if<loop::For>(&nest.body.front().node) : nullptr;
  if (rows == nullptr || nest.axis(rows->axis).kind != AxisKind::kWork)
    return fail(ErrorCode::kUnsupported, "a nest whose body is not one loop over a work axis");
  if (!nest.accumulation_class.starts_with("f32.k1") && nest.accumulation_class != bf16_class)
    return fail(ErrorCode::kUnsupported, "class {}, expected f32.k1 or {}", nest.accumulation_class,
                bf16_class);
  Templates found;
  EDGE_INFER_RETURN_IF_ERROR(check_body(nest, rows->body, true, found));
  int64_t scratch = 0;
  for (const loop::Local& local : nest.locals) {
    const int64_t elements = local_elements(nest, local);
    if (elements < 0)
      return fail(ErrorCode::kUnsupported, "too large: a local of {} elements, which has no bound",
                  local.size.str());
    scratch += elements * dtype_size(local.dtype) * (found.gemms > 0 ? kMostBlockRows : 1);
  }
  if (scratch > kMaxScratch)
    return fail(ErrorCode::kUnsupported, "too large: locals of {} bytes, expected at most {}", scratch,
                kMaxScratch);
  return {};
}

}  // namespace edge_infer::cpu_codegen
