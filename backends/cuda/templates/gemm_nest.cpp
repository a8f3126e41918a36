#include "backends/cuda/templates/gemm_nest.h"

#include "compiler/loop/affine.h"

namespace edge_infer::cuda {
namespace {

using loop::Expr;
using loop::Stmt;

const loop::For* work_loop(const loop::LoopNest& nest) {
  const auto* rows = nest.body.size() == 1 ? std::get_if<loop::For>(&nest.body.front().node) : nullptr;
  return rows != nullptr && nest.axis(rows->axis).kind == loop::AxisKind::kWork ? rows : nullptr;
}

Status split_row(const loop::Body& row, GemmNest& found) {
  for (const Stmt& stmt : row) {
    if (const auto* gemm = std::get_if<loop::Gemm>(&stmt.node)) {
      if (found.gemm != nullptr) return fail(ErrorCode::kUnsupported, "slot refused: two gemms in one nest");
      found.gemm = gemm;
    } else if (found.gemm != nullptr) {
      found.after.push_back(&stmt);
    } else if (const auto* let = std::get_if<loop::Let>(&stmt.node)) {
      found.before.push_back(let);
    } else if (!std::holds_alternative<loop::DeclareLocal>(stmt.node)) {
      return fail(ErrorCode::kUnsupported, "slot refused: a row is read before the gemm");
    }
  }
  if (found.gemm == nullptr) return fail(ErrorCode::kUnsupported, "a nest without a gemm");
  return {};
}

Status read_operands(const loop::LoopNest& nest, GemmNest& found) {
  const loop::Gemm& gemm = *found.gemm;
  const loop::Axis &n = nest.axis(gemm.n), &k = nest.axis(gemm.k);
  if (!n.extent.constant() || !k.extent.constant() || n.begin.constant() != 0 || k.begin.constant() != 0)
    return fail(ErrorCode::kUnsupported,
                "slot refused: gemm over {}..{} and {}..{}, expected constants from 0", n.begin.str(),
                n.extent.str(), k.begin.str(), k.extent.str());
  found.n = *n.extent.constant();
  found.k = *k.extent.constant();
  if (found.n < 1 || found.k < 1 || found.n > INT32_MAX / 2 || found.k > INT32_MAX / 2)
    return fail(ErrorCode::kUnsupported, "slot refused: gemm of {} columns over {}", found.n, found.k);
  found.dtype = nest.buffers[static_cast<size_t>(gemm.weight)].dtype;
  const Expr& a = nest.expr(gemm.a);
  if (a.dtype != found.dtype || (found.dtype != DType::kF16 && found.dtype != DType::kBF16))
    return fail(ErrorCode::kUnsupported, "slot refused: gemm of {} and {}, expected f16 or bf16",
                dtype_name(a.dtype), dtype_name(found.dtype));
  if (a.kind != Expr::Kind::kLoad || a.operands[0] != loop::kNoExpr)
    return fail(ErrorCode::kUnsupported, "slot refused: a is computed, expected a buffer");
  const std::optional<RowMajor> at = row_major(nest, a.index, gemm.k);
  if (!at || at->column != 1 || at->row < found.k || at->offset < 0 || at->offset + found.k > at->row)
    return fail(ErrorCode::kUnsupported, "slot refused: a at {}, expected rows of k", a.index.str());
  found.a = a.id;
  found.a_row = at->row;
  found.a_offset = at->offset;
  return {};
}

}  // namespace

std::optional<RowMajor> row_major(const loop::LoopNest& nest, const SymInt& index, loop::AxisId column) {
  const auto by_row = loop::affine_in(index, nest.work().name);
  if (!by_row) return std::nullopt;
  const auto by_column = loop::affine_in(by_row->rest, nest.axis(column).name);
  if (!by_column || !by_row->coefficient.constant() || !by_column->coefficient.constant() ||
      !by_column->rest.constant())
    return std::nullopt;
  return RowMajor{.row = *by_row->coefficient.constant(),
                  .column = *by_column->coefficient.constant(),
                  .offset = *by_column->rest.constant()};
}

Result<GemmNest> gemm_nest(const loop::LoopNest& nest) {
  const loop::For* rows = work_loop(nest);
  if (rows == nullptr)
    return fail(ErrorCode::kUnsupported, "a nest whose body is not one loop over a work axis");
  if (nest.axis(rows->axis).begin.constant() != 0)
    return fail(ErrorCode::kUnsupported, "slot refused: rows from {}", nest.axis(rows->axis).begin.str());
  GemmNest found{.rows = nest.axis(rows->axis).extent};
  EDGE_INFER_RETURN_IF_ERROR(split_row(rows->body, found));
  EDGE_INFER_RETURN_IF_ERROR(read_operands(nest, found));
  return found;
}

}  // namespace edge_infer::cuda
