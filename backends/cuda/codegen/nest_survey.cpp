#include "backends/cuda/codegen/nest_survey.h"

#include <algorithm>
#include <variant>

#include "backends/cuda/codegen/nest_plan.h"

namespace edge_infer::cuda {

using loop::AxisId;
using loop::AxisKind;
using loop::Body;
using loop::Expr;
using loop::ExprId;
using loop::kNoExpr;
using loop::Stmt;

namespace {

constexpr int kVectorBytes = 16;
constexpr int kWidestVector = 8;
constexpr int64_t kSmallLocal = 64;

template <typename Visit>
void for_each_leaf(const loop::LoopNest& nest, ExprId root, Visit visit) {
  if (root == kNoExpr) return;
  std::vector<ExprId> open{root};
  std::set<ExprId> seen;
  while (!open.empty()) {
    const ExprId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const Expr& e = nest.expr(id);
    for (const ExprId operand : e.operands)
      if (operand != kNoExpr) open.push_back(operand);
    if (e.kind == Expr::Kind::kLoad || e.kind == Expr::Kind::kLocal) visit(e);
  }
}

}  // namespace

bool is_pool(const loop::LoopNest& nest, const Stmt& stmt, AxisId around) {
  const auto* reduce = std::get_if<loop::Reduce>(&stmt.node);
  if (reduce == nullptr || reduce->op != loop::ReduceOp::kSum || reduce->axes.size() != 1) return false;
  const loop::Axis& axis = nest.axis(reduce->axes.front());
  const auto names_lane = [&](const SymInt& bound) {
    const std::vector<std::string> names = bound.symbols();
    return std::ranges::find(names, nest.axis(around).name) != names.end();
  };
  return axis.kind == AxisKind::kSegment && is_floating(nest.expr(reduce->expr).dtype) &&
         !names_lane(axis.begin) && !names_lane(axis.extent);
}

AxisId shared_axis(const loop::LoopNest& nest, const loop::Reduce& reduce) {
  std::map<std::string, int64_t, std::less<>> hints;
  for (const Symbol& symbol : nest.symbols) hints[symbol.name] = symbol.hint;
  AxisId best = reduce.axes.back();
  int64_t longest = -1;
  // The innermost, but for one that is far shorter.
  for (size_t i = reduce.axes.size(); i-- > 0;) {
    const loop::Axis& axis = nest.axis(reduce.axes[i]);
    const auto length = (axis.extent - axis.begin).evaluate(hints);
    const int64_t n = length ? *length : 128;
    if (longest >= 0 && (longest >= 32 || n < 4 * longest)) continue;
    longest = n;
    best = reduce.axes[i];
  }
  return best;
}

NestSurvey::NestSurvey(const loop::LoopNest& nest) : nest_(nest), locals_(nest.locals.size()) {
  const auto* rows = nest.body.size() == 1 ? std::get_if<loop::For>(&nest.body.front().node) : nullptr;
  if (rows == nullptr || nest.axis(rows->axis).kind != AxisKind::kWork) {
    status_ = fail(ErrorCode::kUnsupported, "a nest whose body is not one loop over a work axis");
    return;
  }
  for (const loop::Local& local : nest.locals)
    large_locals_ = large_locals_ || !local.size.constant() || *local.size.constant() > kSmallLocal;
  row(rows->body);
}

bool NestSurvey::wants_groups() const {
  if (nest_.split_columns() >= 0) return false;
  return has_lanes_ || large_locals_ || across_ > along_;
}

int64_t NestSurvey::usual_length(AxisId id) const {
  std::map<std::string, int64_t, std::less<>> hints;
  for (const Symbol& symbol : nest_.symbols) hints[symbol.name] = symbol.hint;
  const loop::Axis& axis = nest_.axis(id);
  return (axis.extent - axis.begin).evaluate(hints).value_or(0);
}

void NestSurvey::row(const Body& body) {
  const auto share = [&](AxisId axis) {
    if (std::ranges::find(shared_axes_, axis) == shared_axes_.end()) shared_axes_.push_back(axis);
  };
  for (const Stmt& stmt : body) {
    if (const auto* loop = std::get_if<loop::For>(&stmt.node)) {
      if (nest_.axis(loop->axis).kind == AxisKind::kLane) {
        has_lanes_ = true;
        share(loop->axis);
        lane_bodies_.emplace(loop->axis, &loop->body);
        in_pool_ = !loop->body.empty() && is_pool(nest_, loop->body.front(), loop->axis);
        if (in_pool_) pools_.push_back(loop->axis);
        thread(loop->body, loop->axis);
        in_pool_ = false;
      } else {
        row(loop->body);
      }
    } else if (const auto* reduce = std::get_if<loop::Reduce>(&stmt.node)) {
      const AxisId axis = shared_axis(nest_, *reduce);
      share(axis);
      reduced_.emplace(axis, reduce->expr);
      weigh(*reduce);
      expression(reduce->expr, axis, true);
    } else if (const auto* let = std::get_if<loop::Let>(&stmt.node)) {
      expression(let->expr, -1, false);
    } else if (const auto* store_local = std::get_if<loop::StoreLocal>(&stmt.node)) {
      access_local(store_local->local, store_local->index, -1, false);
      expression(store_local->expr, -1, false);
    } else if (const auto* store = std::get_if<loop::Store>(&stmt.node)) {
      expression(store->expr, -1, false);
      expression(store->predicate, -1, false);
    } else if (!std::holds_alternative<loop::DeclareLocal>(stmt.node)) {
      status_ = fail(ErrorCode::kUnsupported, "slot refused: gemm or attention beside other statements");
    }
  }
}

void NestSurvey::thread(const Body& body, AxisId around) {
  for (const Stmt& stmt : body) {
    if (const auto* loop = std::get_if<loop::For>(&stmt.node)) {
      thread(loop->body, around);
    } else if (const auto* reduce = std::get_if<loop::Reduce>(&stmt.node)) {
      expression(reduce->expr, around, true);
    } else if (const auto* let = std::get_if<loop::Let>(&stmt.node)) {
      expression(let->expr, around, true);
    } else if (const auto* declare = std::get_if<loop::DeclareLocal>(&stmt.node)) {
      locals_[static_cast<size_t>(declare->local)].in_thread = true;
    } else if (const auto* store_local = std::get_if<loop::StoreLocal>(&stmt.node)) {
      access_local(store_local->local, store_local->index, around, true);
      expression(store_local->expr, around, true);
    } else if (const auto* store = std::get_if<loop::Store>(&stmt.node)) {
      expression(store->expr, around, true);
      expression(store->predicate, around, true);
    } else {
      status_ = fail(ErrorCode::kUnsupported, "slot refused: gemm or attention in a loop");
    }
  }
}

void NestSurvey::expression(ExprId e, AxisId around, bool shared) {
  for_each_leaf(nest_, e, [&](const Expr& leaf) {
    if (leaf.kind == Expr::Kind::kLocal) access_local(leaf.id, leaf.index, around, shared);
  });
}

void NestSurvey::access_local(int32_t local, const SymInt& index, AxisId around, bool shared) {
  LocalUse& use = locals_[static_cast<size_t>(local)];
  use.uniform = use.uniform && !shared;
  if (shared && !in_pool_ && index == SymInt::symbol(nest_.axis(around).name))
    use.axes.insert(around);
  else
    use.along_axes = false;
}

void NestSurvey::weigh(const loop::Reduce& reduce) {
  const auto never = [](std::string_view) { return false; };
  for_each_leaf(nest_, reduce.expr, [&](const Expr& leaf) {
    if (is_vector_access(leaf.index, nest_.work().name, 1, never)) ++along_;
    if (is_vector_access(leaf.index, nest_.axis(reduce.axes.back()).name, 1, never)) ++across_;
  });
}

int NestSurvey::vector_limit(AxisId axis) const {
  int limit = 0;
  bool fits = true;
  std::set<std::string> varying{nest_.axis(axis).name};
  const auto columns = nest_.split_columns();
  if (axis == columns) {
    const auto& rows = std::get<loop::For>(nest_.body.front().node);
    limit_vectors(std::get<loop::For>(rows.body.front().node).body, axis, varying, limit, fits);
  }
  for (auto [it, end] = lane_bodies_.equal_range(axis); it != end; ++it)
    limit_vectors(*it->second, axis, varying, limit, fits);
  for (auto [it, end] = reduced_.equal_range(axis); it != end; ++it)
    limit_expression(it->second, axis, varying, limit);
  return fits ? limit : 1;
}

void NestSurvey::limit_access(DType dtype, const SymInt& index, AxisId axis,
                              const std::set<std::string>& varying, int& limit) const {
  const std::string& name = nest_.axis(axis).name;
  const auto varies = [&](std::string_view symbol) { return varying.contains(std::string(symbol)); };
  for (int vector = std::min<int>(kVectorBytes / static_cast<int>(dtype_size(dtype)), kWidestVector);
       vector > 1; vector /= 2)
    if (is_vector_access(index, name, vector, varies)) {
      limit = std::max(limit, vector);
      return;
    }
}

void NestSurvey::limit_expression(ExprId e, AxisId axis, const std::set<std::string>& varying,
                                  int& limit) const {
  for_each_leaf(nest_, e, [&](const Expr& leaf) {
    if (leaf.kind == Expr::Kind::kLoad && leaf.operands[0] == kNoExpr)
      limit_access(leaf.dtype, leaf.index, axis, varying, limit);
  });
}

// Bounds of inner loops must be the same in all iterations of a vector.
void NestSurvey::limit_vectors(const Body& body, AxisId axis, std::set<std::string>& varying, int& limit,
                               bool& fits) const {
  const auto uniform = [&](AxisId inner) {
    const auto same = [&](const SymInt& bound) {
      return std::ranges::none_of(bound.symbols(), [&](const std::string& s) { return varying.contains(s); });
    };
    return same(nest_.axis(inner).begin) && same(nest_.axis(inner).extent);
  };
  for (const Stmt& stmt : body) {
    if (const auto* loop = std::get_if<loop::For>(&stmt.node)) {
      fits = fits && uniform(loop->axis);
      limit_vectors(loop->body, axis, varying, limit, fits);
    } else if (const auto* reduce = std::get_if<loop::Reduce>(&stmt.node)) {
      fits = fits && std::ranges::all_of(reduce->axes, uniform);
      limit_expression(reduce->expr, axis, varying, limit);
      for (const int32_t value : reduce->values) varying.insert(fmt::format("v{}", value));
    } else if (const auto* let = std::get_if<loop::Let>(&stmt.node)) {
      limit_expression(let->expr, axis, varying, limit);
      varying.insert(fmt::format("v{}", let->value));
    } else if (const auto* store_local = std::get_if<loop::StoreLocal>(&stmt.node)) {
      limit_expression(store_local->expr, axis, varying, limit);
    } else if (const auto* store = std::get_if<loop::Store>(&stmt.node)) {
      limit_expression(store->expr, axis, varying, limit);
      if (store->predicate == kNoExpr)
        limit_access(nest_.buffers[static_cast<size_t>(store->buffer)].dtype, store->index, axis, varying,
                     limit);
    } else {
      fits = false;
    }
  }
}

}  // namespace edge_infer::cuda
