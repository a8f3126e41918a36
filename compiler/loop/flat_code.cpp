#include "compiler/loop/flat_code.h"

#include <utility>

namespace edge_infer::loop {

Result<BodyCode> Flattener::body(const Body& statements) {
  BodyCode code;
  for (const Stmt& stmt : statements) {
    EDGE_INFER_ASSIGN(StmtCode flat,
                      std::visit([this](const auto& node) { return flatten(node); }, stmt.node));
    code.push_back(std::move(flat));
  }
  return code;
}

Result<AxisCode> Flattener::enter(AxisId id) {
  AxisCode code;
  code.variable = builder_.axis_variable(id);
  EDGE_INFER_ASSIGN(code.begin, builder_.index(nest_.axis(id).begin));
  EDGE_INFER_ASSIGN(code.extent, builder_.index(nest_.axis(id).extent));
  builder_.enter(id);
  return code;
}

Result<StmtCode> Flattener::flatten(const For& loop) {
  ForCode code;
  EDGE_INFER_ASSIGN(code.axis, enter(loop.axis));
  if (nest_.axis(loop.axis).kind == AxisKind::kWork) work_ = code.axis.variable;
  EDGE_INFER_ASSIGN(code.body, body(loop.body));
  builder_.leave(loop.axis);
  return StmtCode{std::move(code)};
}

Result<StmtCode> Flattener::flatten(const Let& let) {
  LetCode code{let.value, {}};
  EDGE_INFER_ASSIGN(code.expr, builder_.expression(let.expr));
  return StmtCode{std::move(code)};
}

Result<StmtCode> Flattener::flatten(const DeclareLocal& declare) {
  DeclareCode code{declare.local, {}};
  EDGE_INFER_ASSIGN(code.size, builder_.index(nest_.locals[static_cast<size_t>(declare.local)].size));
  return StmtCode{std::move(code)};
}

Result<StmtCode> Flattener::flatten(const StoreLocal& store) {
  StoreLocalCode code{store.local, {}, {}};
  EDGE_INFER_ASSIGN(code.index, builder_.index(store.index));
  EDGE_INFER_ASSIGN(code.expr, builder_.expression(store.expr));
  return StmtCode{std::move(code)};
}

Result<StmtCode> Flattener::flatten(const Store& store) {
  StoreCode code{store.buffer, {}, {}, {}};
  EDGE_INFER_ASSIGN(code.index, builder_.index(store.index));
  EDGE_INFER_ASSIGN(code.expr, builder_.expression(store.expr));
  if (store.predicate != kNoExpr) {
    EDGE_INFER_ASSIGN(code.predicate, builder_.expression(store.predicate));
  }
  return StmtCode{std::move(code)};
}

Result<StmtCode> Flattener::flatten(const Reduce& reduce) {
  ReduceCode code{&reduce, {}, {}, nest_.expr(reduce.expr).dtype, false};
  for (const AxisId axis : reduce.axes) {
    EDGE_INFER_ASSIGN(AxisCode flat, enter(axis));
    code.axes.push_back(std::move(flat));
    code.segments = code.segments || nest_.axis(axis).kind == AxisKind::kSegment;
  }
  EDGE_INFER_ASSIGN(code.expr, builder_.expression(reduce.expr));
  for (const AxisId axis : reduce.axes) builder_.leave(axis);
  return StmtCode{std::move(code)};
}

Result<StmtCode> Flattener::flatten(const Gemm& gemm) {
  GemmCode code{&gemm, {}, {}, {}, {}};
  EDGE_INFER_ASSIGN(code.n, enter(gemm.n));
  EDGE_INFER_ASSIGN(code.k, enter(gemm.k));
  EDGE_INFER_ASSIGN(code.a, builder_.expression(gemm.a));
  builder_.leave(gemm.k);
  EDGE_INFER_ASSIGN(code.body, body(gemm.body));
  builder_.leave(gemm.n);
  return StmtCode{std::move(code)};
}

Result<StmtCode> Flattener::flatten(const Attention& attention) {
  return StmtCode{AttentionCode{&attention, work_}};
}

}  // namespace edge_infer::loop
