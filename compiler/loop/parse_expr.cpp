#include "compiler/loop/parse_expr.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "compiler/loop/integer_math.h"
#include "compiler/loop/op_rules.h"
#include "compiler/loop/text.h"

namespace edge_infer::loop {
namespace {

struct Infix {
  std::string_view token;
  ScalarOp op;
};
// Longer tokens first.
constexpr Infix kCompares[] = {{"==", ScalarOp::kEq}, {"!=", ScalarOp::kNe}, {"<=", ScalarOp::kLe},
                               {">=", ScalarOp::kGe}, {"<", ScalarOp::kLt},  {">", ScalarOp::kGt}};
constexpr Infix kSums[] = {{"+", ScalarOp::kAdd}, {"-", ScalarOp::kSub}};
constexpr Infix kProducts[] = {{"*", ScalarOp::kMul}, {"/", ScalarOp::kDiv}};

bool has_infix(ScalarOp op) {
  return is_compare(op) || op == ScalarOp::kAdd || op == ScalarOp::kSub || op == ScalarOp::kMul ||
         op == ScalarOp::kDiv;
}

std::optional<ScalarOp> accept_infix(TextCursor& cursor, std::span<const Infix> table) {
  for (const Infix& infix : table)
    if (cursor.accept(infix.token)) return infix.op;
  return std::nullopt;
}

// Counts the levels of recursion that the text can cause.
class Level {
 public:
  explicit Level(int& level) : level_(level) { ++level_; }
  ~Level() { --level_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  int& level_;
};

}  // namespace

Result<ExprId> ExprParser::node(Expr expr, size_t start) {
  int depth = 1;
  for (const ExprId operand : expr.operands)
    if (operand != kNoExpr) depth = std::max(depth, depths_[static_cast<size_t>(operand)] + 1);
  if (depth > kMaxExprDepth)
    return cursor_.refuse(start, ErrorCode::kResourceExhausted,
                          fmt::format("an expression of more than {} levels", kMaxExprDepth));
  const ExprId id = builder_.node(std::move(expr));
  if (static_cast<size_t>(id) == depths_.size()) depths_.push_back(depth);
  return id;
}

Result<ExprId> ExprParser::operate(ScalarOp op, size_t start, ExprId a, ExprId b) {
  const DType type = dtype(a);
  if (b != kNoExpr && dtype(b) != type)
    return cursor_.refuse(start, ErrorCode::kInvalidArgument,
                          fmt::format("{} of {} and {}, expected equal types", scalar_op_name(op),
                                      dtype_name(type), dtype_name(dtype(b))));
  if (!op_takes(op, type))
    return cursor_.refuse(start, ErrorCode::kInvalidArgument,
                          fmt::format("{} does not take {}", scalar_op_name(op), dtype_name(type)));
  const auto kind = is_unary(op)     ? Expr::Kind::kUnary
                    : is_compare(op) ? Expr::Kind::kCompare
                                     : Expr::Kind::kBinary;
  return node({.kind = kind, .dtype = op_result(op, type), .op = op, .operands = {a, b, kNoExpr}}, start);
}

Result<ExprId> ExprParser::expr() {
  const Level level(nesting_);
  if (nesting_ > kMaxExprDepth)
    return cursor_.refuse(cursor_.at(), ErrorCode::kResourceExhausted,
                          fmt::format("an expression of more than {} levels", kMaxExprDepth));
  EDGE_INFER_ASSIGN(const ExprId a, sum());
  const size_t start = cursor_.at();
  const auto op = accept_infix(cursor_, kCompares);
  if (!op) return a;
  EDGE_INFER_ASSIGN(const ExprId b, sum());
  return operate(*op, start, a, b);
}

Result<ExprId> ExprParser::sum() {
  EDGE_INFER_ASSIGN(ExprId a, product());
  for (;;) {
    const size_t start = cursor_.at();
    const auto op = accept_infix(cursor_, kSums);
    if (!op) return a;
    EDGE_INFER_ASSIGN(const ExprId b, product());
    EDGE_INFER_ASSIGN(a, operate(*op, start, a, b));
  }
}

Result<ExprId> ExprParser::product() {
  EDGE_INFER_ASSIGN(ExprId a, sign());
  for (;;) {
    const size_t start = cursor_.at();
    const auto op = accept_infix(cursor_, kProducts);
    if (!op) return a;
    EDGE_INFER_ASSIGN(const ExprId b, sign());
    EDGE_INFER_ASSIGN(a, operate(*op, start, a, b));
  }
}

Result<ExprId> ExprParser::sign() {
  const Level level(nesting_);
  if (nesting_ > kMaxExprDepth)
    return cursor_.refuse(cursor_.at(), ErrorCode::kResourceExhausted,
                          fmt::format("an expression of more than {} levels", kMaxExprDepth));
  if (cursor_.peek() != '-') return atom();
  const size_t start = cursor_.at();
  // A sign right before a number is the number's.
  TextCursor ahead = cursor_;
  if (ahead.number()) return literal();
  EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("-"));
  EDGE_INFER_ASSIGN(const ExprId a, sign());
  return operate(ScalarOp::kNeg, start, a);
}

Result<ExprId> ExprParser::literal() {
  const char first = cursor_.peek();
  const size_t start = cursor_.at();
  if (first != '-' && (cursor_.peek_word() == "true" || cursor_.peek_word() == "false")) {
    const bool truth = cursor_.accept_word("true");
    if (!truth) EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word("false"));
    return node({.dtype = DType::kBool, .integer = truth ? 1 : 0}, start);
  }
  TextCursor again = cursor_;
  EDGE_INFER_ASSIGN(double value, cursor_.number());
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  DType type = DType::kF32;
  if (cursor_.next_is(':')) {
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(":"));
    EDGE_INFER_ASSIGN(type, cursor_.dtype());
  }
  if (is_floating(type)) return node({.dtype = type, .number = value}, start);
  EDGE_INFER_ASSIGN(const int64_t integer, again.integer());
  if (!again.next_is(':')) return cursor_.error_at(start, "an integer");
  if (type == DType::kBool || wrap_to(type, integer) != integer)
    return cursor_.error_at(start, fmt::format("a value of {}", dtype_name(type)));
  return node({.dtype = type, .integer = integer}, start);
}

Result<ExprId> ExprParser::access() {
  const size_t start = cursor_.at();
  const bool is_local = cursor_.peek() == 'c';
  EDGE_INFER_ASSIGN(const int32_t id, cursor_.numbered(is_local ? "c" : "b"));
  const auto position = static_cast<size_t>(id);
  if (is_local ? position >= defined_.locals.size() || !defined_.locals[position]
               : position >= nest_.buffers.size())
    return cursor_.error_at(start, is_local ? "a local declared before" : "a buffer of the nest");
  EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("["));
  EDGE_INFER_ASSIGN(SymInt index, cursor_.size("]"));
  EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("]"));
  return node({.kind = is_local ? Expr::Kind::kLocal : Expr::Kind::kLoad,
               .dtype = is_local ? nest_.locals[position].dtype : nest_.buffers[position].dtype,
               .id = id,
               .index = std::move(index)},
              start);
}

Result<ExprId> ExprParser::guarded_load() {
  EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("("));
  cursor_.skip_space();
  const size_t start = cursor_.at();
  if (cursor_.peek() != 'b') return cursor_.error("a buffer");
  EDGE_INFER_ASSIGN(const ExprId plain, access());
  EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(","));
  EDGE_INFER_ASSIGN(const ExprId predicate, expr());
  EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(","));
  EDGE_INFER_ASSIGN(const ExprId other, expr());
  EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(")"));
  Expr load = nest_.expr(plain);
  if (dtype(predicate) != DType::kBool || dtype(other) != load.dtype)
    return cursor_.refuse(
        start, ErrorCode::kInvalidArgument,
        fmt::format("a load of {} with a predicate of {} and another value of {}, expected bool and {}",
                    dtype_name(load.dtype), dtype_name(dtype(predicate)), dtype_name(dtype(other)),
                    dtype_name(load.dtype)));
  load.operands = {predicate, other, kNoExpr};
  return node(std::move(load), start);
}

Result<ExprId> ExprParser::call(std::string_view word, size_t start) {
  if (word == "load") return guarded_load();
  EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("("));
  if (word == "size") {
    EDGE_INFER_ASSIGN(SymInt index, cursor_.size(")"));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(")"));
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(":"));
    EDGE_INFER_ASSIGN(const DType type, cursor_.dtype());
    return node({.kind = Expr::Kind::kSize, .dtype = type, .index = std::move(index)}, start);
  }
  EDGE_INFER_ASSIGN(const ExprId a, expr());
  if (const auto to = parse_dtype(word)) {
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(")"));
    return node({.kind = Expr::Kind::kCast, .dtype = *to, .operands = {a, kNoExpr, kNoExpr}}, start);
  }
  if (word == "select") {
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(","));
    EDGE_INFER_ASSIGN(const ExprId b, expr());
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(","));
    EDGE_INFER_ASSIGN(const ExprId c, expr());
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(")"));
    if (dtype(a) != DType::kBool || dtype(b) != dtype(c))
      return cursor_.refuse(start, ErrorCode::kInvalidArgument,
                            fmt::format("select of {}, {} and {}, expected bool and two equal types",
                                        dtype_name(dtype(a)), dtype_name(dtype(b)), dtype_name(dtype(c))));
    return node({.kind = Expr::Kind::kSelect, .dtype = dtype(b), .operands = {a, b, c}}, start);
  }
  const ScalarOp op = *parse_scalar_op(word);
  ExprId b = kNoExpr;
  if (!is_unary(op)) {
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(","));
    EDGE_INFER_ASSIGN(b, expr());
  }
  EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(")"));
  return operate(op, start, a, b);
}

Result<ExprId> ExprParser::atom() {
  const char first = cursor_.peek();
  const size_t start = cursor_.at();
  if (first == '(') {
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect("("));
    EDGE_INFER_ASSIGN(const ExprId inner, expr());
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect(")"));
    return inner;
  }
  if (first == '%') {
    EDGE_INFER_ASSIGN(const int32_t id, cursor_.numbered("%v"));
    const auto position = static_cast<size_t>(id);
    if (position >= defined_.values.size() || !defined_.values[position])
      return cursor_.error_at(start, "a value defined before");
    return node({.kind = Expr::Kind::kValue, .dtype = nest_.values[position].dtype, .id = id}, start);
  }
  const std::string_view word = cursor_.peek_word();
  const auto op = parse_scalar_op(word);
  if (word == "load" || word == "size" || word == "select" || parse_dtype(word) || (op && !has_infix(*op))) {
    EDGE_INFER_RETURN_IF_ERROR(cursor_.expect_word(word));
    return call(word, start);
  }
  const bool numbered = word.size() > 1 && word[1] >= '0' && word[1] <= '9';
  if (numbered && (first == 'b' || first == 'c')) return access();
  if ((first >= '0' && first <= '9') || first == '.' || word == "inf" || word == "nan" || word == "true" ||
      word == "false")
    return literal();
  return cursor_.error("an expression");
}

}  // namespace edge_infer::loop
