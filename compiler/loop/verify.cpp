#include "compiler/loop/verify.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/loop/affine.h"
#include "compiler/loop/op_rules.h"
#include "compiler/loop/print.h"
#include "compiler/loop/text.h"
#include "compiler/loop/verify_expressions.h"

namespace edge_infer::loop {
namespace {

template <typename... Args>
std::unexpected<Error> invalid(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kInvalidArgument, format, std::forward<Args>(args)...);
}

SymInt elements(const std::vector<SymInt>& sizes) {
  SymInt product = 1;
  for (const SymInt& size : sizes) product = product * size;
  return product;
}

bool is_integer(DType dtype) {
  return !is_floating(dtype) && dtype != DType::kBool;
}

// Statements in their scopes.
class ScopeCheck {
 public:
  explicit ScopeCheck(const LoopNest& nest)
      : nest_(nest),
        seen_(nest.exprs.size(), 0),
        value_state_(nest.values.size(), State::kUndefined),
        local_state_(nest.locals.size(), State::kUndefined) {}

  Status run() {
    EDGE_INFER_RETURN_IF_ERROR(declarations());
    if (nest_.body.size() != 1 || !std::holds_alternative<For>(nest_.body[0].node))
      return invalid("the body has {} statements, expected one loop over the work axis", nest_.body.size());
    EDGE_INFER_RETURN_IF_ERROR(loop(std::get<For>(nest_.body[0].node), 0));
    for (size_t i = 0; i < value_state_.size(); ++i)
      if (value_state_[i] == State::kUndefined) return invalid("value %v{} is never defined", i);
    for (size_t i = 0; i < local_state_.size(); ++i)
      if (local_state_[i] == State::kUndefined) return invalid("local c{} is never declared", i);
    return {};
  }

 private:
  enum class State : uint8_t { kUndefined, kInScope, kOutOfScope };

  // --- Declarations ---

  Status declarations() {
    if (nest_.accumulation_class.empty() || plain_name(nest_.accumulation_class) != nest_.accumulation_class)
      return invalid("the accumulation class is \"{}\", expected a name", nest_.accumulation_class);
    for (const size_t count : {nest_.symbols.size(), nest_.buffers.size(), nest_.axes.size(),
                               nest_.values.size(), nest_.locals.size()})
      if (count > kMaxItems)
        return invalid("{} symbols, buffers, axes, values or locals, at most {}", count, kMaxItems);
    for (const Symbol& symbol : nest_.symbols) {
      if (symbol.name.empty() || is_value_name(symbol.name))
        return invalid("symbol \"{}\" is named as a value", symbol.name);
      if (symbol.range.lo < 0 || symbol.range.lo > symbol.hint || symbol.hint > symbol.range.hi)
        return invalid("symbol {} in {}..{} hint {}, expected 0 <= lo <= hint <= hi", symbol.name,
                       symbol.range.lo, symbol.range.hi, symbol.hint);
      if (!symbols_.insert(symbol.name).second) return invalid("symbol {} is declared twice", symbol.name);
    }
    if (nest_.buffers.empty()) return invalid("there are no buffers");
    for (size_t i = 0; i < nest_.buffers.size(); ++i) {
      const Buffer& buffer = nest_.buffers[i];
      for (const SymInt& size : buffer.sizes)
        EDGE_INFER_RETURN_IF_ERROR(only_symbols(size, fmt::format("size of b{}", i)));
      if (buffer.access == Access::kIndex && buffer.dtype != DType::kI32 && buffer.dtype != DType::kI64)
        return invalid("index buffer b{} is {}, expected i32 or i64", i, dtype_name(buffer.dtype));
      if (buffer.access == Access::kPacked &&
          (buffer.sizes.size() != 2 || !buffer.sizes[0].constant() || !buffer.sizes[1].constant()))
        return invalid("packed buffer b{} is {}, expected two constant sizes", i,
                       type_text(buffer.dtype, buffer.sizes));
    }
    for (size_t i = 0; i < nest_.locals.size(); ++i)
      EDGE_INFER_RETURN_IF_ERROR(only_symbols(nest_.locals[i].size, fmt::format("size of c{}", i)));
    return {};
  }
  Status only_symbols(const SymInt& e, const std::string& what) const {
    for (const std::string& name : e.symbols())
      if (!symbols_.contains(name))
        return invalid("{} is {}: {} is no symbol of the nest", what, e.str(), name);
    return {};
  }

  // --- Uses ---

  Status index(const SymInt& e) const {
    for (const std::string& name : e.symbols()) {
      if (symbols_.contains(name)) continue;
      if (std::any_of(scope_.begin(), scope_.end(), [&](const Axis* axis) { return axis->name == name; }))
        continue;
      if (!is_value_name(name)) return invalid("{}: {} is no symbol and no axis in scope", e.str(), name);
      size_t id = 0;
      for (size_t i = 1; i < name.size() && id < kMaxItems; ++i)
        id = id * 10 + static_cast<size_t>(name[i] - '0');
      if (name != "v" + std::to_string(id) || id >= value_state_.size() ||
          value_state_[id] != State::kInScope)
        return invalid("{}: {} is not defined here", e.str(), name);
      if (!is_integer(nest_.values[id].dtype))
        return invalid("{}: {} is {}, expected an integer", e.str(), name,
                       dtype_name(nest_.values[id].dtype));
    }
    return {};
  }

  // An access inside the loops of scope_; a predicated one may lie outside.
  Status in_bounds(std::string_view what, const SymInt& e, const SymInt& size, bool guarded) const {
    EDGE_INFER_RETURN_IF_ERROR(index(e));
    if (guarded) return {};
    if (const auto why = out_of_bounds(e, size, scope_, nest_.symbols)) return invalid("{}: {}", what, *why);
    return {};
  }

  Status expression(ExprId id) {
    if (id < 0 || static_cast<size_t>(id) >= nest_.exprs.size())
      return invalid("there is no expression {}", id);
    ++stamp_;
    return visit(id);
  }
  Status visit(ExprId id) {
    if (seen_[static_cast<size_t>(id)] == stamp_) return {};
    seen_[static_cast<size_t>(id)] = stamp_;
    const Expr& e = nest_.expr(id);
    for (const ExprId operand : e.operands)
      if (operand != kNoExpr) EDGE_INFER_RETURN_IF_ERROR(visit(operand));
    const auto position = static_cast<size_t>(e.id);
    switch (e.kind) {
      case Expr::Kind::kSize:
        return index(e.index);
      case Expr::Kind::kValue:
        if (value_state_[position] != State::kInScope) return invalid("%v{} is not defined here", e.id);
        return {};
      case Expr::Kind::kLocal:
        if (local_state_[position] != State::kInScope) return invalid("c{} is not declared here", e.id);
        return in_bounds(fmt::format("c{}", e.id), e.index, nest_.locals[position].size, false);
      case Expr::Kind::kLoad: {
        const Buffer& buffer = nest_.buffers[position];
        if (buffer.access != Access::kIn && buffer.access != Access::kIndex)
          return invalid("a load of b{}, which is {}, expected in or index", e.id,
                         access_name(buffer.access));
        return in_bounds(fmt::format("b{}", e.id), e.index, elements(buffer.sizes), e.operands[0] != kNoExpr);
      }
      default:
        return {};
    }
  }
  // Whether the expression names `name` in an index.
  bool mentions(ExprId id, const std::string& name) const {
    const Expr& e = nest_.expr(id);
    const auto symbols = e.index.symbols();
    if (std::find(symbols.begin(), symbols.end(), name) != symbols.end()) return true;
    return std::any_of(e.operands.begin(), e.operands.end(),
                       [&](ExprId operand) { return operand != kNoExpr && mentions(operand, name); });
  }

  // --- Scopes ---

  Status enter(AxisId id, std::initializer_list<AxisKind> kinds) {
    if (id < 0 || static_cast<size_t>(id) >= nest_.axes.size()) return invalid("there is no axis {}", id);
    const Axis& axis = nest_.axis(id);
    if (std::find(kinds.begin(), kinds.end(), axis.kind) == kinds.end())
      return invalid("axis {} is {}, expected {}{}", axis.name, axis_kind_name(axis.kind),
                     axis_kind_name(*kinds.begin()),
                     kinds.size() > 1 ? std::string(" or ") + axis_kind_name(*(kinds.begin() + 1)) : "");
    if (!is_axis_name(axis.name) || is_value_name(axis.name))
      return invalid(
          "axis \"{}\", expected one lower-case letter with optional digits that is no value's name",
          axis.name);
    if (symbols_.contains(axis.name)) return invalid("axis {} has the name of a symbol", axis.name);
    for (const Axis* outer : scope_)
      if (outer->name == axis.name) return invalid("axis {} is in scope already", axis.name);
    EDGE_INFER_RETURN_IF_ERROR(index(axis.begin));
    EDGE_INFER_RETURN_IF_ERROR(index(axis.extent));
    scope_.push_back(&axis);
    return {};
  }

  Status define(int32_t value, DType dtype) {
    if (value < 0 || static_cast<size_t>(value) >= nest_.values.size())
      return invalid("there is no value {}", value);
    State& state = value_state_[static_cast<size_t>(value)];
    if (state != State::kUndefined) return invalid("%v{} is defined twice", value);
    if (nest_.values[static_cast<size_t>(value)].dtype != dtype)
      return invalid("%v{} is {}, its definition {}", value,
                     dtype_name(nest_.values[static_cast<size_t>(value)].dtype), dtype_name(dtype));
    state = State::kInScope;
    values_.push_back(value);
    return {};
  }

  Status body(const Body& statements, int depth) {
    const size_t values = values_.size(), locals = locals_.size();
    for (const Stmt& stmt : statements)
      EDGE_INFER_RETURN_IF_ERROR(std::visit([&](const auto& node) { return check(node, depth); }, stmt.node));
    for (; values_.size() > values; values_.pop_back())
      value_state_[static_cast<size_t>(values_.back())] = State::kOutOfScope;
    for (; locals_.size() > locals; locals_.pop_back())
      local_state_[static_cast<size_t>(locals_.back())] = State::kOutOfScope;
    return {};
  }

  // --- Statements ---

  Status loop(const For& loop, int depth) {
    if (depth > kMaxLoopDepth) return invalid("loops nested deeper than {}", kMaxLoopDepth);
    if (depth == 0) {
      EDGE_INFER_RETURN_IF_ERROR(enter(loop.axis, {AxisKind::kWork}));
      const Axis& work = nest_.axis(loop.axis);
      if (work.begin != SymInt(0))
        return invalid("work axis {} begins at {}, expected 0", work.name, work.begin.str());
    } else {
      EDGE_INFER_RETURN_IF_ERROR(enter(loop.axis, {AxisKind::kLane, AxisKind::kSerial}));
    }
    EDGE_INFER_RETURN_IF_ERROR(body(loop.body, depth + 1));
    scope_.pop_back();
    return {};
  }
  Status check(const For& node, int depth) {
    if (gemm_) return invalid("a loop in the body of a gemm");
    return loop(node, depth);
  }

  Status check(const Let& let, int) {
    if (const Status status = expression(let.expr); !status)
      return fail_with_context(status.error(), fmt::format("%v{} = {}", let.value, print(nest_, let.expr)));
    return define(let.value, nest_.expr(let.expr).dtype);
  }

  Status check(const DeclareLocal& declare, int) {
    if (declare.local < 0 || static_cast<size_t>(declare.local) >= nest_.locals.size())
      return invalid("there is no local {}", declare.local);
    if (gemm_) return invalid("local c{} in the body of a gemm", declare.local);
    State& state = local_state_[static_cast<size_t>(declare.local)];
    if (state != State::kUndefined) return invalid("c{} is declared twice", declare.local);
    state = State::kInScope;
    locals_.push_back(declare.local);
    return {};
  }

  // Iterations of an independent loop around a store must not write one element: from the lane loops inside
  // of `declared_in` loops on, since a local is an iteration's own outside of its declaration.
  Status disjoint(const SymInt& e, bool to_local) const {
    for (const Axis* axis : scope_) {
      const bool independent = axis->kind == AxisKind::kLane || (axis->kind == AxisKind::kWork && !to_local);
      if (!independent) continue;
      if (const auto why = meets_itself(e, *axis, scope_, nest_.symbols))
        return invalid("stores of one {} axis meet: {}", axis_kind_name(axis->kind), *why);
    }
    return {};
  }

  Status stored(ExprId expr, DType dtype) {
    EDGE_INFER_RETURN_IF_ERROR(expression(expr));
    if (nest_.expr(expr).dtype != dtype)
      return invalid("a store of {}, expected {}", dtype_name(nest_.expr(expr).dtype), dtype_name(dtype));
    return {};
  }

  Status check(const StoreLocal& store, int) {
    const auto position = static_cast<size_t>(store.local);
    if (position >= nest_.locals.size()) return invalid("there is no local {}", store.local);
    const auto statement = [&]() -> Status {
      if (local_state_[position] != State::kInScope) return invalid("it is not declared here");
      EDGE_INFER_RETURN_IF_ERROR(stored(store.expr, nest_.locals[position].dtype));
      EDGE_INFER_RETURN_IF_ERROR(in_bounds("the store", store.index, nest_.locals[position].size, false));
      return disjoint(store.index, true);
    };
    if (const Status status = statement(); !status)
      return fail_with_context(status.error(), fmt::format("c{}[{}]", store.local, store.index.str()));
    return {};
  }

  Status check(const Store& store, int) {
    const auto position = static_cast<size_t>(store.buffer);
    if (position >= nest_.buffers.size()) return invalid("there is no buffer {}", store.buffer);
    const Buffer& buffer = nest_.buffers[position];
    const auto statement = [&]() -> Status {
      if (buffer.access != Access::kOut)
        return invalid("the buffer is {}, expected out", access_name(buffer.access));
      EDGE_INFER_RETURN_IF_ERROR(stored(store.expr, buffer.dtype));
      const bool guarded = store.predicate != kNoExpr;
      if (guarded) EDGE_INFER_RETURN_IF_ERROR(stored(store.predicate, DType::kBool));
      EDGE_INFER_RETURN_IF_ERROR(in_bounds("the store", store.index, elements(buffer.sizes), guarded));
      return guarded ? Status() : disjoint(store.index, false);
    };
    if (const Status status = statement(); !status)
      return fail_with_context(status.error(), fmt::format("b{}[{}]", store.buffer, store.index.str()));
    return {};
  }

  Status check(const Reduce& reduce, int) {
    const auto statement = [&]() -> Status {
      if (gemm_) return invalid("it stands in the body of a gemm");
      if (reduce.axes.empty()) return invalid("it has no axes");
      if (reduce.values.size() != reduce_results(reduce.op))
        return invalid("it gives {} values, found {}", reduce_results(reduce.op), reduce.values.size());
      const size_t outer = scope_.size();
      for (const AxisId axis : reduce.axes)
        EDGE_INFER_RETURN_IF_ERROR(enter(axis, {AxisKind::kReduce, AxisKind::kSegment}));
      EDGE_INFER_RETURN_IF_ERROR(expression(reduce.expr));
      scope_.resize(outer);
      const DType dtype = nest_.expr(reduce.expr).dtype;
      if (!reduce_takes(reduce.op, dtype)) return invalid("it does not take {}", dtype_name(dtype));
      for (const int32_t value : reduce.values)
        EDGE_INFER_RETURN_IF_ERROR(define(value, reduce_result(reduce.op, dtype)));
      return {};
    };
    if (const Status status = statement(); !status)
      return fail_with_context(status.error(), fmt::format("reduce {}", reduce_op_name(reduce.op)));
    return {};
  }

  Status check(const Gemm& gemm, int depth) {
    if (const Status status = gemm_statement(gemm, depth); !status)
      return fail_with_context(status.error(), "gemm");
    return {};
  }
  Status gemm_statement(const Gemm& gemm, int depth) {
    if (gemm_ || depth != 1) return invalid("it does not stand in the work loop itself");
    const auto weight = static_cast<size_t>(gemm.weight);
    if (weight >= nest_.buffers.size() || nest_.buffers[weight].access != Access::kPacked)
      return invalid("the weight is b{}, expected a packed buffer", gemm.weight);
    EDGE_INFER_RETURN_IF_ERROR(enter(gemm.n, {AxisKind::kLane}));
    const Axis& n = *scope_.back();
    EDGE_INFER_RETURN_IF_ERROR(enter(gemm.k, {AxisKind::kReduce}));
    const Axis& k = *scope_.back();
    const auto& sizes = nest_.buffers[weight].sizes;
    if (n.begin != SymInt(0) || k.begin != SymInt(0) || n.extent != sizes[0] || k.extent != sizes[1])
      return invalid("it runs over {}, {}, the weight b{} is {}", n.extent.str(), k.extent.str(), gemm.weight,
                     type_text(nest_.buffers[weight].dtype, sizes));
    EDGE_INFER_RETURN_IF_ERROR(expression(gemm.a));
    if (mentions(gemm.a, n.name)) return invalid("a depends on {}", n.name);
    const DType dtype = nest_.buffers[weight].dtype;
    if (dtype != DType::kF32 && dtype != DType::kBF16 && dtype != DType::kF16)
      return invalid("the weight b{} is {}, expected f32, f16 or bf16", gemm.weight, dtype_name(dtype));
    if (nest_.expr(gemm.a).dtype != dtype)
      return invalid("a is {}, expected {} as the weight", dtype_name(nest_.expr(gemm.a).dtype),
                     dtype_name(dtype));
    scope_.pop_back();
    const size_t values = values_.size();
    EDGE_INFER_RETURN_IF_ERROR(define(gemm.value, DType::kF32));
    gemm_ = true;
    EDGE_INFER_RETURN_IF_ERROR(body(gemm.body, depth + 1));
    gemm_ = false;
    scope_.pop_back();
    for (; values_.size() > values; values_.pop_back())
      value_state_[static_cast<size_t>(values_.back())] = State::kOutOfScope;
    return {};
  }

  Status check(const Attention& a, int depth) {
    if (const Status status = attention_statement(a, depth); !status)
      return fail_with_context(status.error(), "attention");
    return {};
  }
  Status attention_view(const char* name, const Attention::View& view, Access access, int64_t heads,
                        int64_t dim) const {
    const auto position = static_cast<size_t>(view.buffer);
    if (position >= nest_.buffers.size() || nest_.buffers[position].access != access)
      return invalid("{} is b{}, expected an {} buffer", name, view.buffer, access_name(access));
    if (!is_floating(nest_.buffers[position].dtype))
      return invalid("{} is {}, expected floats", name, dtype_name(nest_.buffers[position].dtype));
    if (view.offset < 0 || view.row < 0 || view.offset > view.row - heads * dim)
      return invalid("{} has {} heads of {} at {} in rows of {}", name, heads, dim, view.offset, view.row);
    const auto columns = nest_.buffers[position].sizes.empty()
                             ? std::nullopt
                             : nest_.buffers[position].sizes.back().constant();
    if (columns && *columns > 0 && *columns % view.row != 0 && view.row % *columns != 0)
      return invalid("{} has rows of {}, b{} is {}", name, view.row, view.buffer,
                     type_text(nest_.buffers[position].dtype, nest_.buffers[position].sizes));
    return {};
  }
  Status attention_statement(const Attention& a, int depth) const {
    if (gemm_ || depth != 1) return invalid("it does not stand in the work loop itself");
    constexpr int64_t kMost = 1 << 20;
    for (const int64_t number : {a.heads, a.kv_heads, a.dim, a.block_rows})
      if (number < 1 || number > kMost) return invalid("{}, expected a number in 1..{}", number, kMost);
    if (a.heads % a.kv_heads != 0) return invalid("{} heads on {} heads of k and v", a.heads, a.kv_heads);
    if (!std::isfinite(a.scale)) return invalid("scale {}", a.scale);
    EDGE_INFER_RETURN_IF_ERROR(attention_view("q", a.q, Access::kIn, a.heads, a.dim));
    EDGE_INFER_RETURN_IF_ERROR(attention_view("k", a.k, Access::kIn, a.kv_heads, a.dim));
    EDGE_INFER_RETURN_IF_ERROR(attention_view("v", a.v, Access::kIn, a.kv_heads, a.dim));
    EDGE_INFER_RETURN_IF_ERROR(attention_view("out", a.out, Access::kOut, a.heads, a.dim));
    for (const int32_t id : {a.cu, a.units})
      if (id < 0 || static_cast<size_t>(id) >= nest_.buffers.size() ||
          nest_.buffers[static_cast<size_t>(id)].access != Access::kIndex)
        return invalid("cu and units are b{} and b{}, expected index buffers", a.cu, a.units);
    const auto& units = nest_.buffers[static_cast<size_t>(a.units)].sizes;
    if (units.size() != 2 || units[1] != SymInt(2)) return invalid("units b{} is not [U, 2]", a.units);
    const SymInt work = units[0] * SymInt(a.heads);
    if (scope_.back()->extent != work)
      return invalid("the work axis has {} iterations, expected units x heads = {}",
                     scope_.back()->extent.str(), work.str());
    return {};
  }

  const LoopNest& nest_;
  std::set<std::string, std::less<>> symbols_;
  std::vector<const Axis*> scope_;
  std::vector<uint32_t> seen_;
  uint32_t stamp_ = 0;
  std::vector<State> value_state_, local_state_;
  std::vector<int32_t> values_, locals_;  // in scope, in order
  bool gemm_ = false;                     // inside the body of one
};

}  // namespace

Status verify(const LoopNest& nest) {
  const std::string what = nest.name.empty() ? "nest" : "nest " + plain_name(nest.name);
  if (const Status status = verify_expressions(nest); !status) return fail_with_context(status.error(), what);
  if (const Status status = ScopeCheck(nest).run(); !status) return fail_with_context(status.error(), what);
  return {};
}

}  // namespace edge_infer::loop
