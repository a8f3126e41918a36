#include "compiler/loop/nest_emitter.h"

#include <algorithm>
#include <tuple>

namespace edge_infer::loop {

NestEmitter::NestEmitter(const Expansion& graph, const LowerOptions& options, std::vector<NodeId> nodes,
                         std::vector<ValueId> stored)
    : g_(graph),
      options_(options),
      nodes_(std::move(nodes)),
      stored_(std::move(stored)),
      stored_set_(stored_.begin(), stored_.end()),
      members_(graph.graph.nodes().size(), false) {
  for (const NodeId id : nodes_) members_[static_cast<size_t>(id)] = true;
}

Emitted NestEmitter::run() {
  if (const auto reason = choose_rows()) return std::unexpected(*reason);
  if (gemm_ != kNoNode && stage(node(gemm_).outputs[0]) > 0) return std::unexpected("reduction between");
  // Each attempt but the last adds one decision.
  const size_t most = 4 * nodes_.size() + 16;
  for (size_t attempt = 0; attempt < most; ++attempt) {
    reset();
    emit_all();
    if (restart_) continue;
    if (refusal_ && !other_rows_.empty()) {
      rows_ = other_rows_.front();
      other_rows_.erase(other_rows_.begin());
      held_.clear();
      apart_.clear();
      stages_.clear();
      gemm_dependence_.clear();
      continue;
    }
    if (refusal_) return std::unexpected(*refusal_);
    if (hold_shared_values()) continue;
    EmittedNest result{std::move(nest_), std::move(arguments_), operands_};
    finish_nest(result);
    return result;
  }
  return std::unexpected("too large");
}

void NestEmitter::reset() {
  restart_ = false;
  refusal_.reset();
  nest_ = LoopNest{};
  nest_.accumulation_class = "f32.k1";
  nest_.symbols = g_.graph.symbols();
  b_.emplace(nest_);
  arguments_.clear();
  operands_ = 0;
  bounds_ = Bounds(g_.graph.symbols());
  row_body_.clear();
  row_scope_ = Scope{};
  row_scope_.body = &row_body_;
  scope_ = &row_scope_;
  guard_ = kNoExpr;
  scopes_ = 0;
  batches_.clear();
  batch_of_.clear();
  local_of_.clear();
  computed_in_.clear();
  repeated_.clear();
  levels_.clear();
  axis_names_.clear();
  costs_.clear();
  reads_.clear();
  gemm_value_ = -1;
  const AxisId m = add_axis('m', AxisKind::kWork, 0, rows_, 0);
  row_ = rows_.constant() == 1 ? SymInt(0) : axis_symbol(m);
}

void NestEmitter::emit_all() {
  make_batches();
  for (size_t i = 0; i < batches_.size() && !failed(); ++i)
    if (batches_[i].state == Batch::State::kWaiting) emit(batches_[i]);
  For rows{0, {}};
  for (size_t i = 0; i < nest_.locals.size(); ++i)
    rows.body.push_back({DeclareLocal{static_cast<int32_t>(i)}});
  for (Stmt& statement : row_body_) rows.body.push_back(std::move(statement));
  nest_.body.push_back({std::move(rows)});
}

void NestEmitter::make_batches() {
  // A sum reads the one before it.
  for (const ValueId v : stored_)
    if (g_.kind(producer(v)) == NodeKind::kScan) {
      if (columns_of(v)->range(g_.graph.symbols()).hi > options_.row_limit) return refuse("too large");
      held_.insert(v);
    }
  std::vector<ValueId> sinks = stored_;
  for (const ValueId v : held_)
    if (!is_stored(v)) sinks.push_back(v);
  std::sort(sinks.begin(), sinks.end(), [&](ValueId a, ValueId b) {
    return std::tuple(stage(a), producer(a), a) < std::tuple(stage(b), producer(b), b);
  });
  std::vector<int> stages;
  for (const ValueId v : sinks) {
    Batch own;
    own.columns = *columns_of(v);
    const NodeKind kind = g_.kind(producer(v));
    own.is_gemm = is_of_gemm_loop(v);
    own.is_scan = kind == NodeKind::kScan;
    own.is_row = !own.is_gemm && own.columns.constant() == 1 && !is_held(v) && kind != NodeKind::kPool &&
                 !(kind == NodeKind::kReduce && !is_row_reduction(producer(v)));
    size_t i = 0;
    for (; i < batches_.size(); ++i) {
      const Batch& b = batches_[i];
      if (apart_.count(v) == 0 && apart_.count(b.sinks[0]) == 0 && stages[i] == stage(v) &&
          b.is_gemm == own.is_gemm && b.is_row == own.is_row && !b.is_scan && !own.is_scan &&
          b.columns == own.columns)
        break;
    }
    if (i == batches_.size()) {
      batches_.push_back(std::move(own));
      stages.push_back(stage(v));
    }
    batches_[i].sinks.push_back(v);
    batch_of_[v] = i;
    if (is_held(v)) {
      local_of_[v] = static_cast<int32_t>(nest_.locals.size());
      nest_.locals.push_back({type(v).dtype, batches_[i].columns});
    }
  }
}

void NestEmitter::fill(ValueId v) {
  emit(batches_[batch_of_.at(v)]);
}

void NestEmitter::emit(Batch& batch) {
  Scope* const saved_scope = scope_;
  const ExprId saved_guard = guard_;
  scope_ = &row_scope_;
  guard_ = kNoExpr;
  batch.state = Batch::State::kOpen;
  if (batch.is_row) {
    for (const ValueId v : batch.sinks) {
      batch.current = v;
      const ExprId e = at(v, index_of(v, row_, 0));
      if (failed()) break;
      row_body_.push_back({Store{argument(v, Access::kOut), row_, stored(v, e)}});
    }
  } else if (batch.is_scan) {
    emit_scan(batch);
  } else if (batch.is_gemm) {
    emit_gemm(batch);
  } else {
    Body body;
    const AxisId axis = add_axis('n', AxisKind::kLane, 0, batch.columns, 1);
    Scope loop;
    loop.kind = Scope::Kind::kLane;
    loop.column = batch.columns.constant() == 1 ? SymInt(0) : axis_symbol(axis);
    loop.body = &body;
    emit_loop(batch, loop);
    if (!failed()) row_body_.push_back({For{axis, std::move(body)}});
  }
  batch.state = Batch::State::kDone;
  scope_ = saved_scope;
  guard_ = saved_guard;
}

void NestEmitter::emit_loop(Batch& batch, Scope& loop) {
  loop.reads = at_hints(batch.columns);
  loop.id = batch.loop = ++scopes_;
  scope_ = &loop;
  for (const ValueId v : batch.sinks) {
    batch.current = v;
    const ExprId e = at(v, index_of(v, row_, loop.column));
    if (failed()) return;
    if (is_held(v)) loop.body->push_back({StoreLocal{local_of_.at(v), loop.column, e}});
    if (is_stored(v))
      loop.body->push_back(
          {Store{argument(v, Access::kOut), row_ * batch.columns + loop.column, stored(v, e)}});
  }
}

void NestEmitter::emit_gemm(Batch& batch) {
  const Node& n = node(gemm_);
  const ValueId x = n.inputs[0];
  const SymInt k_extent = type(x).sizes.back();
  Gemm gemm;
  gemm.n = add_axis('n', AxisKind::kLane, 0, batch.columns, 1);
  gemm.k = add_axis('k', AxisKind::kReduce, 0, k_extent, 2);
  Scope operand;
  operand.kind = Scope::Kind::kOperand;
  operand.id = ++scopes_;
  scope_ = &operand;
  const Sizes matrix = {rows_, k_extent};
  const Index element = {row_, k_extent.constant() == 1 ? SymInt(0) : axis_symbol(gemm.k)};
  const size_t before = nest_.exprs.size();
  gemm.a = b_->cast(at(x, reshape(element, matrix, type(x).sizes, bounds_)), type(n.inputs[1]).dtype);
  if (failed()) return;
  int operations = 0;
  for (size_t e = before; e < nest_.exprs.size(); ++e) {
    const auto kind = nest_.exprs[e].kind;
    operations += kind == Expr::Kind::kUnary || kind == Expr::Kind::kBinary || kind == Expr::Kind::kSelect ||
                  kind == Expr::Kind::kCompare || kind == Expr::Kind::kCast;
  }
  if (operations > options_.max_prologue_ops)
    return refuse(fmt::format("slot refused: prologue of {} operations", operations));
  gemm.weight = argument(n.inputs[1], Access::kPacked);
  if (type(n.inputs[1]).dtype != DType::kF32) nest_.accumulation_class = options_.half_class;
  operands_ = static_cast<int>(arguments_.size());
  gemm.value = gemm_value_ = new_value(DType::kF32, 1);
  Scope loop;
  loop.kind = Scope::Kind::kGemm;
  loop.column = batch.columns.constant() == 1 ? SymInt(0) : axis_symbol(gemm.n);
  loop.body = &gemm.body;
  emit_loop(batch, loop);
  if (!failed()) row_body_.push_back({std::move(gemm)});
}

// Rows that several loops compute are computed once, where that saves more than it costs.
bool NestEmitter::hold_shared_values() {
  for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it)
    for (const ValueId v : node(*it).outputs) {
      const auto found = computed_in_.find(v);
      const bool is_shared =
          found != computed_in_.end() && (found->second.size() > 1 || repeated_.count(v) > 0);
      if (!is_shared || is_held(v) || is_cheap(v)) continue;
      const SymInt columns = *columns_of(v);
      if (columns.constant() == 1 || columns.range(g_.graph.symbols()).hi > options_.row_limit) continue;
      held_.insert(v);
      return true;
    }
  return false;
}

void NestEmitter::must_hold(ValueId v) {
  if (failed()) return;
  v = worth_holding(v);
  if (is_held(v)) return refuse("different map");
  if (!columns_of(v)) return refuse("different map");
  if (columns_of(v)->range(g_.graph.symbols()).hi > options_.row_limit) return refuse("too large");
  held_.insert(v);
  restart_ = true;
}

void NestEmitter::set_apart(ValueId sink) {
  if (failed()) return;
  if (!apart_.insert(sink).second) return refuse("different map");
  restart_ = true;
}

void NestEmitter::refuse(const std::string& reason) {
  if (!failed()) refusal_ = reason;
}

int32_t NestEmitter::argument(ValueId v, Access access) {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const bool both_read = access == Access::kIn && nest_.buffers[i].access == Access::kIndex;
    if (arguments_[i] == v && (nest_.buffers[i].access == access || both_read))
      return static_cast<int32_t>(i);
  }
  arguments_.push_back(v);
  nest_.buffers.push_back(
      {access, access == Access::kPacked ? type(v).dtype : g_.stored_dtype(v), type(v).sizes});
  return static_cast<int32_t>(arguments_.size()) - 1;
}

AxisId NestEmitter::add_axis(char letter, AxisKind kind, const SymInt& begin, const SymInt& extent,
                             int level) {
  const int number = axis_names_[letter]++;
  const std::string name = number == 0 ? std::string(1, letter) : letter + std::to_string(number);
  nest_.axes.push_back({name, kind, begin, extent});
  levels_[name] = level;
  bounds_.add(name, begin, extent - 1);
  return static_cast<AxisId>(nest_.axes.size()) - 1;
}

int32_t NestEmitter::new_value(DType dtype, int level) {
  nest_.values.push_back({dtype});
  const auto id = static_cast<int32_t>(nest_.values.size()) - 1;
  levels_[fmt::format("v{}", id)] = level;
  return id;
}

int32_t NestEmitter::let(ExprId expr, Scope& scope) {
  const auto known = scope.lets.find(expr);
  if (known != scope.lets.end()) return known->second;
  const int32_t value = new_value(nest_.expr(expr).dtype, scope.kind == Scope::Kind::kRow ? 0 : 1);
  scope.lets[expr] = value;
  scope.body->push_back({Let{value, expr}});
  return value;
}

int NestEmitter::level_of(const SymInt& e) const {
  int level = 0;
  for (const std::string& name : e.symbols()) {
    const auto found = levels_.find(name);
    if (found != levels_.end()) level = std::max(level, found->second);
  }
  return level;
}

}  // namespace edge_infer::loop
