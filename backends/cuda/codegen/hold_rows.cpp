#include "backends/cuda/codegen/hold_rows.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "backends/cuda/codegen/nest_plan.h"

namespace edge_infer::cuda {

using loop::AxisKind;
using loop::Expr;
using loop::ExprId;
using loop::kNoExpr;
using loop::LoopNest;

namespace {

// A statement of the row loop that reads along `axis`.
struct Sweep {
  const loop::Axis& axis;
  size_t statement;  // of the row loop
  int times;         // that it reads its operands
};

struct Row {
  int32_t buffer;
  SymInt base;  // index of its first element
  int64_t length;
  std::string axis;  // that `element` names
  ExprId element;    // what is held: the load, or its cast
  int times = 0;
  size_t last_statement = SIZE_MAX;
  bool only_f32 = true;
};

loop::Body& row_body(LoopNest& nest) {
  return std::get<loop::For>(nest.body.front().node).body;
}

std::optional<int64_t> length_of(const loop::Axis& axis) {
  const auto length = axis.extent.constant();
  return axis.begin.constant() == 0 && length && *length > 0 ? length : std::nullopt;
}

// Calls visit(sweep, root) for the expressions, which it may replace, of all sweeps of constant length.
template <typename Visit>
void for_each_sweep(LoopNest& nest, Visit visit) {
  loop::Body& body = row_body(nest);
  for (size_t i = 0; i < body.size(); ++i) {
    if (auto* reduce = std::get_if<loop::Reduce>(&body[i].node)) {
      const loop::Axis& axis = nest.axis(reduce->axes.front());
      if (reduce->axes.size() != 1 || axis.kind != AxisKind::kReduce || !length_of(axis)) continue;
      visit(Sweep{axis, i, reduce->op == loop::ReduceOp::kMoments ? 2 : 1}, reduce->expr);
      continue;
    }
    auto* loop = std::get_if<loop::For>(&body[i].node);
    if (loop == nullptr || loop->body.empty()) continue;
    const loop::Axis& axis = nest.axis(loop->axis);
    if (axis.kind != AxisKind::kLane || !length_of(axis)) continue;
    if (is_pool(nest, loop->body.front(), loop->axis)) continue;
    const Sweep sweep{axis, i, 1};
    for (loop::Stmt& stmt : loop->body) {
      if (auto* let = std::get_if<loop::Let>(&stmt.node)) visit(sweep, let->expr);
      if (auto* store_local = std::get_if<loop::StoreLocal>(&stmt.node)) visit(sweep, store_local->expr);
      // What a predicated store reads may lie outside where the predicate is false.
      auto* store = std::get_if<loop::Store>(&stmt.node);
      if (store != nullptr && store->predicate == kNoExpr) visit(sweep, store->expr);
    }
  }
}

// Where the row starts that the expression, if it is a load of one, reads along `axis`.
std::optional<SymInt> row_base(const LoopNest& nest, ExprId id, const std::string& axis) {
  const Expr& e = nest.expr(id);
  if (e.kind != Expr::Kind::kLoad || e.operands[0] != kNoExpr) return std::nullopt;
  if (nest.buffers[static_cast<size_t>(e.id)].access != loop::Access::kIn) return std::nullopt;
  SymInt base = e.index - SymInt::symbol(axis);
  const bool fixed = std::ranges::all_of(base.symbols(), [&](const std::string& name) {
    return name == nest.work().name ||
           std::ranges::find(nest.symbols, name, &Symbol::name) != nest.symbols.end();
  });
  return fixed ? std::optional(std::move(base)) : std::nullopt;
}

// Of a cast to f32 its operand, else the expression itself.
ExprId below_cast(const LoopNest& nest, ExprId id) {
  const Expr& e = nest.expr(id);
  return e.kind == Expr::Kind::kCast && e.dtype == DType::kF32 ? e.operands[0] : id;
}

void find_rows(const LoopNest& nest, const Sweep& sweep, ExprId root, std::vector<Row>& rows) {
  std::vector<ExprId> open{root};
  std::set<ExprId> seen;
  while (!open.empty()) {
    const ExprId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const ExprId load = below_cast(nest, id);
    const auto base = row_base(nest, load, sweep.axis.name);
    if (!base) {
      for (const ExprId operand : std::views::reverse(nest.expr(id).operands))
        if (operand != kNoExpr) open.push_back(operand);
      continue;
    }
    const int32_t buffer = nest.expr(load).id;
    const int64_t length = *length_of(sweep.axis);
    auto row = std::ranges::find_if(
        rows, [&](const Row& r) { return r.buffer == buffer && r.length == length && r.base == *base; });
    if (row == rows.end())
      row = rows.insert(
          row, {.buffer = buffer, .base = *base, .length = length, .axis = sweep.axis.name, .element = id});
    row->only_f32 = row->only_f32 && nest.expr(id).dtype == DType::kF32;
    if (row->last_statement == sweep.statement) continue;
    row->last_statement = sweep.statement;
    row->times += sweep.times;
  }
}

// Expressions of one sweep with the local in place of the row's elements.
class Replacement {
 public:
  Replacement(LoopNest& nest, const Row& row, int32_t local, std::string axis)
      : nest_(nest), builder_(nest), row_(row), local_(local), axis_(std::move(axis)) {}

  ExprId of(ExprId id) {
    if (const auto it = known_.find(id); it != known_.end()) return it->second;
    return known_[id] = replaced(id);
  }

 private:
  ExprId replaced(ExprId id) {
    const ExprId load = below_cast(nest_, id);
    if (nest_.expr(load).id == row_.buffer && row_base(nest_, load, axis_) == row_.base)
      return builder_.local(local_, SymInt::symbol(axis_));
    Expr e = nest_.expr(id);
    for (ExprId& operand : e.operands)
      if (operand != kNoExpr) operand = of(operand);
    return builder_.node(std::move(e));
  }

  LoopNest& nest_;
  loop::ExprBuilder builder_;
  const Row& row_;
  int32_t local_;
  std::string axis_;
  std::unordered_map<ExprId, ExprId> known_;
};

// With the row held from statement `at` on.
LoopNest with_held(LoopNest nest, const Row& row, std::ptrdiff_t at) {
  const auto local = static_cast<int32_t>(nest.locals.size());
  nest.locals.push_back({.dtype = DType::kF32, .size = row.length});
  for_each_sweep(nest, [&](const Sweep& sweep, ExprId& root) {
    if (length_of(sweep.axis) == row.length) root = Replacement(nest, row, local, sweep.axis.name).of(root);
  });
  // Loops one after another may have axes of one name.
  const auto axis = static_cast<loop::AxisId>(nest.axes.size());
  nest.axes.push_back({.name = row.axis, .kind = AxisKind::kLane, .extent = row.length});
  loop::For fill{.axis = axis, .body = {}};
  fill.body.push_back({loop::StoreLocal{local, SymInt::symbol(row.axis), row.element}});
  loop::Body& body = row_body(nest);
  body.insert(body.begin() + at, {std::move(fill)});
  body.insert(body.begin() + at, {loop::DeclareLocal{local}});
  return nest;
}

// Whether `after` deals as `before` and has the locals that came to it in registers.
bool is_same_deal(const NestPlan& before, const NestPlan& after) {
  const auto same_spread = [&](const auto& known) {
    const auto found = after.spreads.find(known.first);
    return found != after.spreads.end() && found->second == known.second;
  };
  return after.rows && after.threads == before.threads && after.group == before.group &&
         after.row_shared_bytes == before.row_shared_bytes && after.pools == before.pools &&
         std::ranges::all_of(before.spreads, same_spread) &&
         std::equal(before.locals.begin(), before.locals.end(), after.locals.begin()) &&
         std::all_of(after.locals.begin() + std::ssize(before.locals), after.locals.end(),
                     [](const LocalPlan& local) { return local.place == Place::kRegisters; });
}

}  // namespace

LoopNest hold_rows(LoopNest nest, const CudaTarget& target) {
  const auto plan = plan_nest(nest, target);
  if (!plan || !plan->rows) return nest;
  std::vector<Row> rows;
  for_each_sweep(nest, [&](const Sweep& sweep, ExprId root) { find_rows(nest, sweep, root, rows); });
  std::ptrdiff_t statements = 0;  // that declare and fill what is held
  for (const Row& row : rows) {
    if (row.times < 2 || !row.only_f32) continue;
    LoopNest held = with_held(nest, row, statements);
    const auto held_plan = plan_nest(held, target);
    // Half of a thread's registers: the rest is for addresses, values and whole vectors on their way.
    const int most = std::min(kRegistersPerThread, kRegistersPerSm / plan->threads) / 2;
    if (!held_plan || !is_same_deal(*plan, *held_plan) || held_registers(held, *held_plan) > most) continue;
    nest = std::move(held);
    statements += 2;
  }
  return nest;
}

}  // namespace edge_infer::cuda
