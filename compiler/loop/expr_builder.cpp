#include <bit>
#include <cassert>
#include <cmath>
#include <functional>

#include "compiler/graph/host_tensor.h"
#include "compiler/loop/integer_math.h"
#include "compiler/loop/loop_nest.h"
#include "compiler/loop/op_rules.h"
#include "runtime/symbolic/sym_node.h"

namespace edge_infer::loop {
namespace {

constexpr double kExactIntegers = 0x1p53;

size_t hash_of(const Expr& e) {
  size_t hash = 0;
  const auto mix = [&hash](uint64_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15u ^ hash >> 29; };
  mix(static_cast<uint64_t>(e.kind) << 16 | static_cast<uint64_t>(e.dtype) << 8 |
      static_cast<uint64_t>(e.op));
  for (const ExprId operand : e.operands) mix(static_cast<uint64_t>(operand));
  mix(static_cast<uint64_t>(e.id));
  mix(std::bit_cast<uint64_t>(e.number));
  mix(static_cast<uint64_t>(e.integer));
  // Enough of the index to tell most apart; equality compares the whole.
  const SymNode& node = e.index.node();
  mix(static_cast<uint64_t>(node.constant));
  mix(static_cast<uint64_t>(node.weight));
  mix(std::hash<std::string>{}(node.name));
  return hash;
}

// Numbers are equal by their bits: 0 and -0 are two constants.
bool same(const Expr& a, const Expr& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.op == b.op && a.operands == b.operands && a.id == b.id &&
         std::bit_cast<uint64_t>(a.number) == std::bit_cast<uint64_t>(b.number) && a.integer == b.integer &&
         a.index == b.index;
}

bool is_constant(const Expr& e) {
  return e.kind == Expr::Kind::kConst;
}
bool is_number(const Expr& e, double value) {
  return is_constant(e) && is_floating(e.dtype) &&
         std::bit_cast<uint64_t>(e.number) == std::bit_cast<uint64_t>(value);
}
bool is_integer(const Expr& e, int64_t value) {
  return is_constant(e) && !is_floating(e.dtype) && e.integer == value;
}
bool is_one(const Expr& e) {
  return is_number(e, 1) || is_integer(e, 1);
}
bool representable(DType dtype, double value) {
  return std::isfinite(value) && round_to(dtype, value) == value;
}

// The result, where neither double nor `dtype` rounds it; error terms come from fused multiply-adds and sums.
std::optional<double> exact_unary(ScalarOp op, DType dtype, double a) {
  if (op == ScalarOp::kNeg) return -a;
  if (op == ScalarOp::kAbs) return std::fabs(a);
  if (!representable(dtype, a)) return std::nullopt;
  switch (op) {
    case ScalarOp::kFloor:
      return std::floor(a);
    case ScalarOp::kCeil:
      return std::ceil(a);
    case ScalarOp::kRound:
      return std::nearbyint(a);
    case ScalarOp::kSqrt:
      if (const double r = std::sqrt(a); a >= 0 && representable(dtype, r) && std::fma(r, r, -a) == 0)
        return r;
      return std::nullopt;
    case ScalarOp::kRcp:
      if (const double r = 1 / a; representable(dtype, r) && std::fma(r, a, -1) == 0) return r;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

bool exact_sum(double a, double b, double sum) {
  const double c = sum - a;
  return (a - (sum - c)) + (b - c) == 0;
}

std::optional<double> exact_binary(ScalarOp op, DType dtype, double a, double b) {
  if (!representable(dtype, a) || !representable(dtype, b)) return std::nullopt;
  double r = 0;
  bool exact = false;
  switch (op) {
    case ScalarOp::kAdd:
      r = a + b;
      exact = exact_sum(a, b, r);
      break;
    case ScalarOp::kSub:
      r = a - b;
      exact = exact_sum(a, -b, r);
      break;
    case ScalarOp::kMul:
      r = a * b;
      // The error of a product near the bottom of the range may itself be lost.
      exact = r == 0 ? (a == 0 || b == 0) : std::fabs(r) > 0x1p-900 && std::fma(a, b, -r) == 0;
      break;
    case ScalarOp::kDiv:
      r = b != 0 ? a / b : 0;
      exact = b != 0 && (a == 0 || (std::fabs(a) > 0x1p-900 && std::fma(r, b, -a) == 0));
      break;
    case ScalarOp::kMin:
      r = std::signbit(a) && a == b ? a : std::fmin(a, b);
      exact = true;
      break;
    case ScalarOp::kMax:
      r = std::signbit(a) && a == b ? b : std::fmax(a, b);
      exact = true;
      break;
    default:
      break;
  }
  if (!exact || !representable(dtype, r)) return std::nullopt;
  return r;
}

std::optional<bool> compared(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::kEq:
      return a == b;
    case ScalarOp::kNe:
      return a != b;
    case ScalarOp::kLt:
      return a < b;
    case ScalarOp::kLe:
      return a <= b;
    case ScalarOp::kGt:
      return a > b;
    case ScalarOp::kGe:
      return a >= b;
    default:
      return std::nullopt;
  }
}

// Whether each value of `from` is one of `to`.
bool widens(DType from, DType to) {
  if (from == to || from == DType::kBool) return true;
  if (is_floating(from)) return to == DType::kF64 || (to == DType::kF32 && from != DType::kF64);
  if (is_floating(to)) {
    const int64_t bits = dtype_size(from) * 8;
    return bits <= (to == DType::kF64 ? 53 : to == DType::kF32 ? 24 : 8);
  }
  if (from == DType::kU8) return dtype_size(to) > 1;
  return to != DType::kU8 && to != DType::kBool && dtype_size(to) >= dtype_size(from);
}

}  // namespace

ExprId ExprBuilder::node(Expr expr) {
  for (; indexed_ < nest_.exprs.size(); ++indexed_)
    known_.emplace(hash_of(nest_.exprs[indexed_]), static_cast<ExprId>(indexed_));
  const size_t hash = hash_of(expr);
  for (auto [it, end] = known_.equal_range(hash); it != end; ++it)
    if (same(nest_.expr(it->second), expr)) return it->second;
  nest_.exprs.push_back(std::move(expr));
  return static_cast<ExprId>(nest_.exprs.size() - 1);
}

ExprId ExprBuilder::number(double value, DType dtype) {
  assert(is_floating(dtype));
  // One NaN, so that equal constants are one node.
  return node(
      {.dtype = dtype, .number = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value});
}

ExprId ExprBuilder::integer(int64_t value, DType dtype) {
  assert(!is_floating(dtype));
  return node({.dtype = dtype, .integer = wrap_to(dtype, value)});
}

ExprId ExprBuilder::size(SymInt value, DType dtype) {
  if (const auto constant = value.constant()) {
    if (!is_floating(dtype)) return integer(*constant, dtype);
    const auto number_value = static_cast<double>(*constant);
    if (std::fabs(number_value) <= kExactIntegers && representable(dtype, number_value))
      return number(number_value, dtype);
  }
  return node({.kind = Expr::Kind::kSize, .dtype = dtype, .index = std::move(value)});
}

ExprId ExprBuilder::value(int32_t id) {
  assert(id >= 0 && static_cast<size_t>(id) < nest_.values.size());
  return node({.kind = Expr::Kind::kValue, .dtype = nest_.values[static_cast<size_t>(id)].dtype, .id = id});
}

ExprId ExprBuilder::load(int32_t buffer, SymInt index, ExprId predicate, ExprId other) {
  assert(buffer >= 0 && static_cast<size_t>(buffer) < nest_.buffers.size());
  const DType type = nest_.buffers[static_cast<size_t>(buffer)].dtype;
  assert((predicate == kNoExpr) == (other == kNoExpr));
  if (predicate != kNoExpr) {
    assert(dtype(predicate) == DType::kBool && dtype(other) == type);
    const Expr& condition = nest_.expr(predicate);
    if (is_constant(condition)) {
      if (condition.integer == 0) return other;
      predicate = other = kNoExpr;
    }
  }
  return node({.kind = Expr::Kind::kLoad,
               .dtype = type,
               .operands = {predicate, other, kNoExpr},
               .id = buffer,
               .index = std::move(index)});
}

ExprId ExprBuilder::local(int32_t id, SymInt index) {
  assert(id >= 0 && static_cast<size_t>(id) < nest_.locals.size());
  return node({.kind = Expr::Kind::kLocal,
               .dtype = nest_.locals[static_cast<size_t>(id)].dtype,
               .id = id,
               .index = std::move(index)});
}

ExprId ExprBuilder::unary(ScalarOp op, ExprId a) {
  const DType type = dtype(a);
  assert(is_unary(op) && op_takes(op, type));
  const Expr& x = nest_.expr(a);
  if (is_constant(x)) {
    if (!is_floating(type)) return integer(integer_op(op, type, x.integer), type);
    if (op == ScalarOp::kIsNan) return integer(std::isnan(x.number) ? 1 : 0, DType::kBool);
    if (const auto r = exact_unary(op, type, x.number)) return number(*r, type);
  }
  return node({.kind = Expr::Kind::kUnary,
               .dtype = op_result(op, type),
               .op = op,
               .operands = {a, kNoExpr, kNoExpr}});
}

ExprId ExprBuilder::binary(ScalarOp op, ExprId a, ExprId b) {
  const DType type = dtype(a);
  assert(!is_unary(op) && type == dtype(b) && op_takes(op, type));
  const Expr &x = nest_.expr(a), &y = nest_.expr(b);
  const bool floating = is_floating(type);
  if (is_constant(x) && is_constant(y)) {
    if (is_compare(op)) {
      const bool r = floating ? *compared(op, x.number, y.number) : integer_compare(op, x.integer, y.integer);
      // Between constants that the type rounds, the compare depends on who rounds them.
      if (!floating || (round_to(type, x.number) == x.number && round_to(type, y.number) == y.number))
        return integer(r ? 1 : 0, DType::kBool);
    } else if (floating) {
      if (const auto r = exact_binary(op, type, x.number, y.number)) return number(*r, type);
    } else if (const auto r = integer_op(op, type, x.integer, y.integer)) {
      return integer(*r, type);
    }
  }
  switch (op) {
    case ScalarOp::kMul:
      if (is_one(y)) return a;
      if (is_one(x)) return b;
      break;
    case ScalarOp::kDiv:
      if (is_one(y)) return a;
      break;
    case ScalarOp::kAdd:  // -0 is what leaves every float as it is
      if (is_number(y, -0.0) || is_integer(y, 0)) return a;
      if (is_number(x, -0.0) || is_integer(x, 0)) return b;
      break;
    case ScalarOp::kSub:
      if (is_number(y, 0.0) || is_integer(y, 0)) return a;
      break;
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kMin:
    case ScalarOp::kMax:
      if (a == b) return a;
      break;
    default:
      break;
  }
  return node({.kind = is_compare(op) ? Expr::Kind::kCompare : Expr::Kind::kBinary,
               .dtype = op_result(op, type),
               .op = op,
               .operands = {a, b, kNoExpr}});
}

ExprId ExprBuilder::select(ExprId condition, ExprId a, ExprId b) {
  assert(dtype(condition) == DType::kBool && dtype(a) == dtype(b));
  const Expr& c = nest_.expr(condition);
  if (a == b) return a;
  if (is_constant(c)) return c.integer != 0 ? a : b;
  return node({.kind = Expr::Kind::kSelect, .dtype = dtype(a), .operands = {condition, a, b}});
}

ExprId ExprBuilder::cast(ExprId a, DType to) {
  const Expr& x = nest_.expr(a);
  if (x.dtype == to) return a;
  if (is_constant(x)) {
    if (!is_floating(to)) return integer(is_floating(x.dtype) ? to_integer(to, x.number) : x.integer, to);
    if (!is_floating(x.dtype)) {
      const auto value = static_cast<double>(x.integer);
      if (std::fabs(value) <= kExactIntegers && representable(to, value)) return number(value, to);
    } else if (std::isinf(x.number) || std::isnan(x.number) ||
               (representable(x.dtype, x.number) && representable(to, x.number))) {
      return number(x.number, to);
    }
  }
  // Back to where a widening cast came from.
  if (x.kind == Expr::Kind::kCast) {
    const ExprId inner = x.operands[0];
    if (dtype(inner) == to && widens(to, x.dtype)) return inner;
  }
  return node({.kind = Expr::Kind::kCast, .dtype = to, .operands = {a, kNoExpr, kNoExpr}});
}

}  // namespace edge_infer::loop
