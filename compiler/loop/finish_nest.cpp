// Tidies a nest as it was emitted: see nest_emitter.h.
#include <algorithm>
#include <utility>

#include "compiler/loop/nest_emitter.h"
#include "runtime/symbolic/sym_node.h"

namespace edge_infer::loop {
namespace {

using Names = std::map<std::string, SymInt, std::less<>>;
constexpr int kRowHome = 0;

std::string value_name(int32_t id) {
  return fmt::format("v{}", id);
}

class Finisher {
 public:
  Finisher(EmittedNest& emitted) : in_(emitted.nest), arguments_(emitted.arguments), b_(out_) {}

  EmittedNest run() {
    out_.name = in_.name;
    out_.accumulation_class = in_.accumulation_class;
    buffer_of_.assign(in_.buffers.size(), -1);
    const For& rows = std::get<For>(in_.body.front().node);
    find_levels(rows.body, 0);
    // A lone loop stays alone, so that its columns may be split.
    const auto loops = std::count_if(rows.body.begin(), rows.body.end(), [](const Stmt& s) {
      return !std::holds_alternative<DeclareLocal>(s.node);
    });
    hoists_ = loops > 1;
    count_body(rows.body, kRowHome);
    out_.locals = in_.locals;
    For work{rows.axis, {}};
    row_body_ = &work.body;
    body_ = row_body_;
    home_ = kRowHome;
    next_home_ = 0;
    for (const Stmt& s : rows.body) statement(s);
    out_.body.push_back({std::move(work)});
    out_.axes = in_.axes;
    for (Axis& axis : out_.axes) {
      axis.begin = renamed(axis.begin);
      axis.extent = renamed(axis.extent);
    }
    find_symbols();
    return {std::move(out_), std::move(new_arguments_), operands_};
  }

 private:
  // --- What an expression depends on: 0 the row, 1 a loop of the row, 2 a reduction
  void find_levels(const Body& body, int level) {
    const auto define = [&](int32_t value) { levels_[value_name(value)] = level; };
    for (const Axis& axis : in_.axes)
      levels_[axis.name] = axis.kind == AxisKind::kWork                                     ? 0
                           : axis.kind == AxisKind::kLane || axis.kind == AxisKind::kSerial ? 1
                                                                                            : 2;
    for (const Stmt& s : body) {
      if (const auto* loop = std::get_if<For>(&s.node)) find_levels(loop->body, 1);
      if (const auto* let = std::get_if<Let>(&s.node)) define(let->value);
      if (const auto* reduce = std::get_if<Reduce>(&s.node))
        for (const int32_t v : reduce->values) define(v);
      if (const auto* gemm = std::get_if<Gemm>(&s.node)) {
        levels_[value_name(gemm->value)] = 1;
        find_levels(gemm->body, 1);
      }
    }
  }
  int level(const SymInt& index) const {
    int result = 0;
    for (const std::string& name : index.symbols())
      if (const auto found = levels_.find(name); found != levels_.end())
        result = std::max(result, found->second);
    return result;
  }
  int level(ExprId id) {
    if (expr_levels_.empty()) expr_levels_.assign(in_.exprs.size(), -1);
    int& known = expr_levels_[static_cast<size_t>(id)];
    if (known >= 0) return known;
    const Expr& e = in_.expr(id);
    int result = level(e.index);
    if (e.kind == Expr::Kind::kValue) result = std::max(result, levels_.at(value_name(e.id)));
    for (const ExprId operand : e.operands)
      if (operand != kNoExpr) result = std::max(result, level(operand));
    return expr_levels_[static_cast<size_t>(id)] = result;
  }
  static bool is_operation(const Expr& e) {
    return e.kind == Expr::Kind::kUnary || e.kind == Expr::Kind::kBinary || e.kind == Expr::Kind::kCompare ||
           e.kind == Expr::Kind::kSelect || e.kind == Expr::Kind::kCast;
  }

  // Where an expression that occurs in `home` is computed; -1: inside of the reduction itself.
  int home_of(ExprId id, int home) {
    const int l = level(id);
    return l >= 2 ? -1 : l == 1 || !hoists_ ? home : kRowHome;
  }

  // --- References of each node, by home
  using Key = std::pair<int, ExprId>;
  void count(ExprId id, int home, std::map<ExprId, bool>& inner) {
    if (id == kNoExpr) return;
    const int own = home_of(id, home);
    if (own < 0) {
      if (!inner.emplace(id, true).second) return;
    } else {
      if (own != home && is_operation(in_.expr(id))) moved_.insert({own, id});
      if (++references_[{own, id}] > 1) return;
    }
    for (const ExprId operand : in_.expr(id).operands) count(operand, home, inner);
  }
  void count_root(ExprId id, int home) {
    std::map<ExprId, bool> inner;
    count(id, home, inner);
  }
  void count_body(const Body& body, int home) {
    for (const Stmt& s : body) {
      if (const auto* loop = std::get_if<For>(&s.node)) count_body(loop->body, ++next_home_);
      if (const auto* let = std::get_if<Let>(&s.node)) count_root(let->expr, home);
      if (const auto* store = std::get_if<StoreLocal>(&s.node)) count_root(store->expr, home);
      if (const auto* store = std::get_if<Store>(&s.node)) count_root(store->expr, home);
      if (const auto* reduce = std::get_if<Reduce>(&s.node)) count_root(reduce->expr, home);
      if (const auto* gemm = std::get_if<Gemm>(&s.node)) {
        const int inside = ++next_home_;
        count_root(gemm->a, inside);
        count_body(gemm->body, inside);
      }
    }
  }

  // --- Rebuilding
  SymInt renamed(const SymInt& index) const {
    return value_names_.empty() ? index : index.substitute(value_names_);
  }
  int32_t buffer(int32_t old) {
    int32_t& known = buffer_of_[static_cast<size_t>(old)];
    if (known < 0) {
      known = static_cast<int32_t>(out_.buffers.size());
      out_.buffers.push_back(in_.buffers[static_cast<size_t>(old)]);
      new_arguments_.push_back(arguments_[static_cast<size_t>(old)]);
    }
    return known;
  }
  int32_t define(int32_t old) {
    out_.values.push_back(in_.values[static_cast<size_t>(old)]);
    const auto id = static_cast<int32_t>(out_.values.size()) - 1;
    value_of_[old] = id;
    value_names_[value_name(old)] = SymInt::symbol(value_name(id));
    return id;
  }

  ExprId made(const Expr& e, int home) {
    const auto operand = [&](size_t i) {
      return e.operands[i] == kNoExpr ? kNoExpr : rebuilt(e.operands[i], home);
    };
    const ExprId a = operand(0), b = operand(1), c = operand(2);
    switch (e.kind) {
      case Expr::Kind::kConst:
        return is_floating(e.dtype) ? b_.number(e.number, e.dtype) : b_.integer(e.integer, e.dtype);
      case Expr::Kind::kSize:
        return b_.size(renamed(e.index), e.dtype);
      case Expr::Kind::kValue:
        return b_.value(value_of_.at(e.id));
      case Expr::Kind::kLoad:
        return b_.load(buffer(e.id), renamed(e.index), a, b);
      case Expr::Kind::kLocal:
        return b_.local(e.id, renamed(e.index));
      case Expr::Kind::kUnary:
        return b_.unary(e.op, a);
      case Expr::Kind::kSelect:
        return b_.select(a, b, c);
      case Expr::Kind::kCast:
        return b_.cast(a, e.dtype);
      default:
        return b_.binary(e.op, a, b);
    }
  }

  ExprId rebuilt(ExprId id, int home) {
    const int own = home_of(id, home);
    const Key key{own < 0 ? ~statement_ : own, id};
    if (const auto known = rebuilt_.find(key); known != rebuilt_.end()) return known->second;
    const Expr e = in_.expr(id);
    ExprId result = made(e, own < 0 ? home : own);
    const bool shared = own >= 0 && is_operation(e) && (references_[key] > 1 || moved_.count(key) > 0);
    if (shared && is_operation(out_.expr(result))) {
      out_.values.push_back({e.dtype});
      const auto value = static_cast<int32_t>(out_.values.size()) - 1;
      (own == kRowHome ? row_body_ : body_)->push_back({Let{value, result}});
      result = b_.value(value);
    }
    rebuilt_[key] = result;
    return result;
  }

  void statement(const Stmt& s) {
    ++statement_;
    const int home = home_;
    if (const auto* loop = std::get_if<For>(&s.node)) {
      For copy{loop->axis, {}};
      enter(loop->body, copy.body);
      body_->push_back({std::move(copy)});
    } else if (const auto* let = std::get_if<Let>(&s.node)) {
      const ExprId e = rebuilt(let->expr, home);
      body_->push_back({Let{define(let->value), e}});
    } else if (const auto* declare = std::get_if<DeclareLocal>(&s.node)) {
      body_->push_back({*declare});
    } else if (const auto* local = std::get_if<StoreLocal>(&s.node)) {
      const ExprId e = rebuilt(local->expr, home);
      body_->push_back({StoreLocal{local->local, renamed(local->index), e}});
    } else if (const auto* store = std::get_if<Store>(&s.node)) {
      const ExprId e = rebuilt(store->expr, home);
      body_->push_back({Store{buffer(store->buffer), renamed(store->index), e}});
    } else if (const auto* reduce = std::get_if<Reduce>(&s.node)) {
      Reduce copy{{}, reduce->op, rebuilt(reduce->expr, home), reduce->axes};
      for (const int32_t v : reduce->values) copy.values.push_back(define(v));
      body_->push_back({std::move(copy)});
    } else if (const auto* gemm = std::get_if<Gemm>(&s.node)) {
      Gemm copy = *gemm;
      copy.body.clear();
      copy.a = rebuilt(gemm->a, next_home_ + 1);
      copy.weight = buffer(gemm->weight);
      operands_ = static_cast<int>(out_.buffers.size());
      copy.value = define(gemm->value);
      enter(gemm->body, copy.body);
      row_body_->push_back({std::move(copy)});
    }
  }
  void enter(const Body& from, Body& to) {
    Body* const saved = body_;
    const int outer = home_;
    body_ = &to;
    home_ = ++next_home_;
    for (const Stmt& s : from) statement(s);
    body_ = saved;
    home_ = outer;
  }

  void find_symbols() {
    std::set<std::string> used;
    const auto use = [&](const SymInt& e) {
      for (const std::string& name : e.symbols()) used.insert(name);
    };
    for (const Buffer& b : out_.buffers)
      for (const SymInt& size : b.sizes) use(size);
    for (const Axis& axis : out_.axes) {
      use(axis.begin);
      use(axis.extent);
    }
    for (const Expr& e : out_.exprs) use(e.index);
    for (const Local& local : out_.locals) use(local.size);
    for (const Symbol& s : in_.symbols)
      if (used.count(s.name) > 0) out_.symbols.push_back(s);
  }

  const LoopNest& in_;
  const std::vector<ValueId>& arguments_;
  LoopNest out_;
  ExprBuilder b_;
  std::vector<ValueId> new_arguments_;
  int operands_ = 0;
  bool hoists_ = false;
  std::map<std::string, int, std::less<>> levels_;
  std::vector<int> expr_levels_;
  std::map<Key, int> references_;
  std::set<Key> moved_;
  std::map<Key, ExprId> rebuilt_;
  std::vector<int32_t> buffer_of_;
  std::map<int32_t, int32_t> value_of_;
  Names value_names_;
  Body *row_body_ = nullptr, *body_ = nullptr;
  int home_ = kRowHome, next_home_ = 0, statement_ = 0;
};

int divisions(const SymInt& e) {
  const SymNode& node = e.node();
  int count = node.kind == SymKind::kFloorDiv || node.kind == SymKind::kMod;
  for (const SymInt& part : node.args) count += divisions(part);
  for (const SymTerm& term : node.terms)
    for (const SymInt& factor : term.factors) count += divisions(factor);
  return count;
}

}  // namespace

int count_divisions(const LoopNest& nest) {
  int count = 0;
  for (const Expr& e : nest.exprs) count += divisions(e.index);
  return count;
}

void finish_nest(EmittedNest& emitted) {
  EmittedNest finished = Finisher(emitted).run();
  emitted = std::move(finished);
}

int count_operations(const LoopNest& nest) {
  return static_cast<int>(std::count_if(nest.exprs.begin(), nest.exprs.end(), [](const Expr& e) {
    return e.kind == Expr::Kind::kUnary || e.kind == Expr::Kind::kBinary || e.kind == Expr::Kind::kCompare ||
           e.kind == Expr::Kind::kSelect || e.kind == Expr::Kind::kCast;
  }));
}

}  // namespace edge_infer::loop
