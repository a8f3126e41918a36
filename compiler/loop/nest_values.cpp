// The elements of values as expressions.
#include <algorithm>

#include "compiler/graph/op_table.h"
#include "compiler/graph/ops.h"
#include "compiler/loop/nest_emitter.h"
#include "compiler/loop/pointwise.h"

namespace edge_infer::loop {
namespace {

size_t position(const std::vector<ValueId>& values, ValueId v) {
  return static_cast<size_t>(std::find(values.begin(), values.end(), v) - values.begin());
}

size_t dim_of(const Node& node, int64_t rank) {
  return static_cast<size_t>(wrap_dim(attribute_as<int64_t>(node, "dim"), rank).value_or(0));
}

constexpr int64_t kMostReads = int64_t{1} << 31;

ExprId zero(ExprBuilder& b, DType dtype) {
  return is_floating(dtype) ? b.number(0, dtype) : b.integer(0, dtype);
}

}  // namespace

ExprId NestEmitter::at(ValueId v, Index index) {
  NodeId id = producer(v);
  for (; id != kNoNode && g_.kind(id) == NodeKind::kView; id = producer(v)) {
    index = through_view(g_.graph, node(id), position(node(id).outputs, v), index, bounds_);
    v = node(id).inputs[0];
  }
  if (failed()) return anything(type(v).dtype);
  return contains(id) ? computed(v, index) : load(v, index);
}

ExprId NestEmitter::anything(DType dtype) {
  return zero(*b_, dtype);
}

ExprId NestEmitter::load(ValueId v, const Index& index) {
  const int32_t buffer = argument(v, Access::kIn);
  const SymInt flat = linearize(index, type(v).sizes);
  const DType memory = nest_.buffers[static_cast<size_t>(buffer)].dtype;
  const ExprId element =
      guard_ == kNoExpr ? b_->load(buffer, flat) : b_->load(buffer, flat, guard_, zero(*b_, memory));
  return b_->cast(element, type(v).dtype);
}

// The loop around the current expression, else the row.
NestEmitter::Scope& NestEmitter::loop_scope() {
  Scope* scope = scope_;
  while (scope->kind == Scope::Kind::kReduce && scope->outer != nullptr) scope = scope->outer;
  return *scope;
}

ExprId NestEmitter::computed(ValueId v, const Index& index) {
  const Node& n = node(producer(v));
  const NodeKind kind = g_.kind(producer(v));
  std::optional<Place> place;
  if (columns_of(v)) place = locate(v, index);
  const bool own_row = place && place->row == row_;
  const bool in_operand = scope_->kind == Scope::Kind::kOperand;
  if (in_operand && kind != NodeKind::kPure) {
    refuse("reduction between");
  } else if (in_operand && (g_.users_of(v).size() > 1 || is_stored(v))) {
    refuse("several uses");
  } else if (!own_row && (kind != NodeKind::kPure || depends_on_gemm(v))) {
    refuse("different map");
  } else if (!own_row && (g_.users_of(v).size() > 1 || is_stored(v)) && !is_cheap(v)) {
    refuse("several uses");
  } else if (!own_row && scope_->kind == Scope::Kind::kReduce && !is_cheap(v) &&
             scope_->reads / 2 >= at_hints(floordiv(type(v).elements(), rows_))) {
    refuse("not profitable");
  }
  if (failed()) return anything(type(v).dtype);

  if (own_row && is_held(v)) {
    if (const auto held = from_local(v, *place)) return *held;
    if (failed()) return anything(type(v).dtype);
  }
  if (kind == NodeKind::kScan) {
    if (holds_scan(n)) {
      must_hold(v);
    } else {
      refuse("different map");
    }
    return anything(type(v).dtype);
  }
  if (is_row_reduction(producer(v))) return reduction(n, v, index);
  const Scope& loop = loop_scope();
  const bool own_element = own_row && place->column == loop.column && guard_ == kNoExpr;
  const bool needs_gemm = kind == NodeKind::kGemm || (is_of_gemm_loop(v) && reads_gemm(v));
  const bool needs_loop = kind == NodeKind::kReduce || kind == NodeKind::kPool;
  const bool in_loop = loop.kind == Scope::Kind::kLane || loop.kind == Scope::Kind::kGemm;
  if ((needs_gemm && !(own_element && scope_->kind == Scope::Kind::kGemm)) ||
      (needs_loop && !(own_element && in_loop))) {
    must_hold(v);
    return anything(type(v).dtype);
  }

  for (const auto& [known, result] : scope_->memo[v])
    if (known == index && result.first == guard_) return result.second;
  if (own_row) {
    computed_in_[v].insert(scope_->id);
    if (!in_operand && kind == NodeKind::kPure && scope_->reads / 2 >= at_hints(*columns_of(v)))
      repeated_.insert(v);
  }
  ExprId e = kNoExpr;
  switch (kind) {
    case NodeKind::kGemm:
      e = linear(n, index);
      break;
    case NodeKind::kReduce:
      e = reduction(n, v, index);
      break;
    case NodeKind::kPool:
      e = pooled(n, index);
      break;
    default:
      e = pure(n, v, index);
  }
  scope_->memo[v].emplace_back(index, std::pair{guard_, e});
  return e;
}

// nullopt where the loop that fills the Local is the one being written and the element its own.
std::optional<ExprId> NestEmitter::from_local(ValueId v, const Place& place) {
  const size_t filling = batch_of_.at(v);
  if (batches_[filling].state == Batch::State::kOpen) {
    const Scope& loop = loop_scope();
    const bool own =
        scope_->id == loop.id && loop.id == batches_[filling].loop && place.column == loop.column;
    if (own && guard_ == kNoExpr) return std::nullopt;
    set_apart(batches_[filling].current);
    return std::nullopt;
  }
  if (batches_[filling].state == Batch::State::kWaiting) fill(v);
  if (failed()) return std::nullopt;
  const SymInt last = *columns_of(v) - 1;
  const SymInt column = guard_ == kNoExpr ? place.column : max(min(place.column, last), 0);
  return b_->local(local_of_.at(v), column);
}

ExprId NestEmitter::pure(const Node& n, ValueId v, const Index& index) {
  const std::string& op = n.op->name;
  if (op == "loop.size") return b_->size(attribute_as<SymInt>(n, "value"), type(v).dtype);
  if (op == "aten.full") {
    const Attribute& fill = attribute(n, "fill_value");
    const DType dtype = type(v).dtype;
    if (const auto* number = std::get_if<double>(&fill))
      return is_floating(dtype) ? b_->number(*number, dtype)
                                : b_->cast(b_->number(*number, DType::kF64), dtype);
    const auto* truth = std::get_if<bool>(&fill);
    const int64_t integer = truth != nullptr ? (*truth ? 1 : 0) : std::get<int64_t>(fill);
    return b_->cast(b_->integer(integer, DType::kI64), dtype);
  }
  if (op == "aten.arange") {
    const SymInt step = attribute_as<int64_t>(n, "step");
    return b_->cast(b_->size(attribute_as<SymInt>(n, "start") + index[0] * step, DType::kI64), type(v).dtype);
  }
  if (op == "aten.cat") return cat(n, v, index);
  if (op == "aten.embedding" || op == "aten.index_select" || op == "aten.gather") return gather(n, index);
  std::vector<ExprId> operands;
  for (const ValueId input : n.inputs)
    operands.push_back(at(input, broadcast(index, type(input).sizes, type(v).sizes)));
  if (failed()) return anything(type(v).dtype);
  return lower_pointwise(*b_, g_.graph, n, operands);
}

// Operands by ranges of the index along the dimension; what lies outside of an operand is not read.
ExprId NestEmitter::cat(const Node& n, ValueId v, const Index& index) {
  const size_t dim = dim_of(n, type(v).rank());
  const DType dtype = type(v).dtype;
  const ExprId outer = guard_;
  const auto both = [&](ExprId a, ExprId b) { return a == kNoExpr ? b : b_->binary(ScalarOp::kAnd, a, b); };
  std::vector<ExprId> parts, below;
  SymInt start = 0;
  ExprId not_before = kNoExpr;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const SymInt end = start + type(n.inputs[i]).sizes[dim];
    const bool last = i + 1 == n.inputs.size();
    const ExprId less =
        last ? kNoExpr
             : b_->binary(ScalarOp::kLt, b_->size(index[dim], DType::kI64), b_->size(end, DType::kI64));
    guard_ = outer;
    if (not_before != kNoExpr) guard_ = both(guard_, not_before);
    if (!last) guard_ = both(guard_, less);
    Index own = index;
    own[dim] = index[dim] - start;
    parts.push_back(b_->cast(at(n.inputs[i], own), dtype));
    below.push_back(less);
    if (!last)
      not_before = both(not_before, b_->binary(ScalarOp::kGe, b_->size(index[dim], DType::kI64),
                                               b_->size(end, DType::kI64)));
    start = end;
  }
  guard_ = outer;
  ExprId result = parts.back();
  for (size_t i = parts.size() - 1; i-- > 0;) result = b_->select(below[i], parts[i], result);
  return result;
}

ExprId NestEmitter::gather(const Node& n, const Index& index) {
  const std::string& op = n.op->name;
  if (op == "aten.embedding") {
    const Index row(index.begin(), index.end() - 1);
    const SymInt id = indirect(at(n.inputs[1], row), type(n.inputs[0]).sizes[0]);
    return at(n.inputs[0], {id, index.back()});
  }
  const size_t dim = dim_of(n, type(n.inputs[0]).rank());
  Index source = index;
  const Index entry = op == "aten.gather" ? index : Index{index[dim]};
  source[dim] = indirect(at(n.inputs[1], entry), type(n.inputs[0]).sizes[dim]);
  return at(n.inputs[0], source);
}

// The loaded integer as a term of an index.
SymInt NestEmitter::indirect(ExprId expr, const SymInt& size) {
  if (failed()) return 0;
  const Expr& e = nest_.expr(expr);
  if (e.kind != Expr::Kind::kLoad) {
    refuse("slot refused: an index that is computed");
    return 0;
  }
  nest_.buffers[static_cast<size_t>(e.id)].access = Access::kIndex;
  // Where the index or its guard counts along the loop, the loop defines the value.
  const bool in_row = level_of(e.index) == 0 && e.operands[0] == kNoExpr;
  Scope& loop = loop_scope();
  const bool in_loop = loop.body != nullptr && level_of(e.index) <= 1 && scope_ == &loop;
  if (!in_row && !in_loop) {
    refuse("slot refused: an indirect index inside of a reduction");
    return 0;
  }
  const int32_t value = let(expr, in_row ? row_scope_ : loop);
  const std::string name = fmt::format("v{}", value);
  bounds_.add(name, 0, size - 1);
  return SymInt::symbol(name);
}

ExprId NestEmitter::linear(const Node& n, const Index& index) {
  ExprId sum = b_->value(gemm_value_);
  if (n.inputs.size() > 2 && n.inputs[2] != kNoValue) {
    const ExprId bias = b_->cast(at(n.inputs[2], {index.back()}), nest_.expr(sum).dtype);
    sum = b_->binary(ScalarOp::kAdd, sum, bias);
  }
  return b_->cast(sum, type(n.outputs[0]).dtype);
}

ExprId NestEmitter::reduction(const Node& n, ValueId v, const Index& index) {
  const NodeId id = producer(v);
  const bool of_row = is_row_reduction(id);
  Scope& home = of_row ? row_scope_ : loop_scope();
  auto known = home.reductions.find(id);
  if (known == home.reductions.end()) {
    Scope* const saved_scope = scope_;
    const ExprId saved_guard = guard_;
    scope_ = &home;
    guard_ = kNoExpr;
    const auto values = reduce(n, of_row ? index_of(v, row_, 0) : index, home);
    scope_ = saved_scope;
    guard_ = saved_guard;
    if (failed()) return anything(type(v).dtype);
    known = home.reductions.emplace(id, values).first;
  }
  return b_->cast(b_->value(known->second[position(n.outputs, v)]), type(v).dtype);
}

std::vector<int32_t> NestEmitter::reduce(const Node& n, const Index& kept, Scope& home) {
  const ValueId x = n.inputs[0];
  const Sizes& sizes = type(x).sizes;
  const std::vector<size_t> reduced = g_.reduced(n);
  const bool keeps = attribute_as<bool>(n, "keepdim");
  const std::string& op = n.op->name;
  const DType in = type(x).dtype, out = type(n.outputs[0]).dtype;
  const bool is_sum = op == "aten.sum", is_prod = op == "aten.prod";
  ReduceOp reduce_op = ReduceOp::kSum;
  DType dtype = compute_dtype(is_sum || is_prod ? out : in);
  if (is_prod) reduce_op = ReduceOp::kProd;
  if (op == "aten.amax") reduce_op = in == DType::kBool ? ReduceOp::kAny : ReduceOp::kMax;
  if (op == "aten.amin") reduce_op = in == DType::kBool ? ReduceOp::kAll : ReduceOp::kMin;
  if (op == "aten.any") reduce_op = ReduceOp::kAny;
  if (op == "aten.all") reduce_op = ReduceOp::kAll;
  if (reduce_op == ReduceOp::kAny || reduce_op == ReduceOp::kAll) dtype = DType::kBool;
  if (op == "aten.argmax" || op == "aten.argmin") {
    reduce_op = op == "aten.argmax" ? ReduceOp::kArgMax : ReduceOp::kArgMin;
    if (in == DType::kBool) dtype = DType::kI32;
  }
  if (op == "loop.moments") reduce_op = ReduceOp::kMoments;

  // Neighbouring dimensions are one axis.
  Reduce statement{{}, reduce_op, kNoExpr, {}};
  Index index(sizes.size(), SymInt(0));
  size_t next_kept = 0;
  for (size_t d = 0; d < sizes.size();) {
    if (!std::binary_search(reduced.begin(), reduced.end(), d)) {
      index[d++] = kept[next_kept++];
      continue;
    }
    size_t end = d;
    while (end < sizes.size() && std::binary_search(reduced.begin(), reduced.end(), end)) ++end;
    const auto run = std::span(sizes).subspan(d, end - d);
    const AxisId axis = add_axis('k', AxisKind::kReduce, 0, product(run), 2);
    statement.axes.push_back(axis);
    const SymInt flat = product(run).constant() == 1 ? SymInt(0) : axis_symbol(axis);
    const Index inner = delinearize(flat, run, bounds_);
    std::copy(inner.begin(), inner.end(), index.begin() + static_cast<std::ptrdiff_t>(d));
    if (keeps) next_kept += end - d;
    d = end;
  }
  if (statement.axes.empty()) statement.axes.push_back(add_axis('k', AxisKind::kReduce, 0, 1, 2));

  Scope scope;
  scope.kind = Scope::Kind::kReduce;
  scope.id = ++scopes_;
  scope.outer = home.kind == Scope::Kind::kRow ? nullptr : &home;
  scope.reads = home.reads;
  for (const AxisId axis : statement.axes)
    scope.reads = std::min(scope.reads * std::max<int64_t>(at_hints(nest_.axis(axis).extent), 1), kMostReads);
  Scope* const saved = scope_;
  scope_ = &scope;
  statement.expr = b_->cast(at(x, index), dtype);
  scope_ = saved;
  if (failed()) return {};
  const int level = home.kind == Scope::Kind::kRow ? 0 : 1;
  const bool is_arg = reduce_op == ReduceOp::kArgMax || reduce_op == ReduceOp::kArgMin;
  for (size_t i = 0; i < n.outputs.size(); ++i)
    statement.values.push_back(new_value(is_arg ? DType::kI64 : dtype, level));
  auto values = statement.values;
  home.body->push_back({std::move(statement)});
  return values;
}

// A column of a sequence's rows; a sequence without rows gives 0.
ExprId NestEmitter::pooled(const Node& n, const Index& index) {
  Scope& loop = loop_scope();
  const ValueId x = n.inputs[0];
  const std::string& mode = attribute_as<std::string>(n, "mode");
  const DType dtype = compute_dtype(type(x).dtype);
  const SymInt rows = type(x).sizes[0];
  Scope* const saved = scope_;
  scope_ = &row_scope_;
  const SymInt begin = indirect(at(n.inputs[1], {index[0]}), rows + 1);
  const SymInt end = indirect(at(n.inputs[1], {index[0] + 1}), rows + 1);
  scope_ = saved;
  if (failed()) return anything(type(x).dtype);
  const ExprId is_filled =
      b_->binary(ScalarOp::kGt, b_->size(end - begin, DType::kI64), b_->integer(0, DType::kI64));
  if (mode == "cls" || mode == "last") {
    guard_ = is_filled;
    const ExprId row = at(x, {mode == "cls" ? begin : end - 1, index[1]});
    guard_ = kNoExpr;
    return row;
  }
  const AxisId axis = add_axis('t', AxisKind::kSegment, begin, end, 2);
  bounds_.add(nest_.axis(axis).name, 0, rows - 1);
  Scope scope;
  scope.kind = Scope::Kind::kReduce;
  scope.id = ++scopes_;
  scope.outer = &loop;
  scope_ = &scope;
  ExprId element = b_->cast(at(x, {axis_symbol(axis), index[1]}), dtype);
  if (mode == "weighted_mean")
    element = b_->binary(ScalarOp::kMul, element, b_->size(axis_symbol(axis) - begin + 1, dtype));
  scope_ = saved;
  if (failed()) return anything(type(x).dtype);
  const int32_t value = new_value(dtype, 1);
  loop.body->push_back({Reduce{{value}, mode == "max" ? ReduceOp::kMax : ReduceOp::kSum, element, {axis}}});
  ExprId result = b_->value(value);
  const ExprId count = b_->size(end - begin, dtype);
  if (mode == "mean") result = b_->binary(ScalarOp::kDiv, result, count);
  if (mode == "mean_sqrt_len") result = b_->binary(ScalarOp::kDiv, result, b_->unary(ScalarOp::kSqrt, count));
  if (mode == "weighted_mean") {
    const SymInt length = end - begin;
    result = b_->binary(ScalarOp::kDiv, result, b_->size(floordiv(length * (length + 1), 2), dtype));
  }
  return b_->cast(b_->select(is_filled, result, zero(*b_, dtype)), type(x).dtype);
}

}  // namespace edge_infer::loop
