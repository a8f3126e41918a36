#include "backends/cuda/codegen/expr_printer.h"

#include <algorithm>
#include <charconv>
#include <variant>

namespace edge_infer::cuda {

using loop::AxisId;
using loop::Expr;
using loop::ExprId;
using loop::kNoExpr;
using loop::ScalarOp;

namespace {

// Longer text becomes a variable, for readers and for the compiler's limit on nesting.
constexpr size_t kLongText = 72;

std::string in_parentheses(std::string code, bool atomic) {
  return atomic ? std::move(code) : fmt::format("({})", code);
}

bool is_narrow(DType dtype) {
  return dtype == DType::kI16 || dtype == DType::kI8 || dtype == DType::kU8;
}

std::string wrapped(DType dtype, const std::string& code) {
  return is_narrow(dtype) ? fmt::format("(i32)({})({})", dtype_name(dtype), code) : code;
}

const char* infix_compare(ScalarOp op) {
  switch (op) {
    case ScalarOp::kEq:
      return "==";
    case ScalarOp::kNe:
      return "!=";
    case ScalarOp::kLt:
      return "<";
    case ScalarOp::kLe:
      return "<=";
    case ScalarOp::kGt:
      return ">";
    case ScalarOp::kGe:
      return ">=";
    default:
      return nullptr;
  }
}

// Of C's float functions, without the suffix f.
const char* math_function(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAbs:
      return "fabs";
    case ScalarOp::kRound:
      return "rint";
    default:
      return loop::scalar_op_name(op);
  }
}

}  // namespace

ExprPrinter::ExprPrinter(const loop::LoopNest& nest, Lines& out, ExprHooks hooks)
    : nest_(nest), out_(out), hooks_(std::move(hooks)), names_(nest) {
  index_ = {.name = [this](std::string_view name) { return symbol_text(name); },
            .ranges = names_.ranges(),
            .narrow_division = true};
}

std::string ExprPrinter::symbol_text(std::string_view symbol) const {
  if (const std::string_view size = names_.symbol(symbol); !size.empty()) return std::string(size);
  if (const AxisId axis = names_.axis(symbol); axis >= 0) {
    std::string text = hooks_.axis ? hooks_.axis(axis) : "";
    return text.empty() ? names_.axis_name(axis) : text;
  }
  std::string text = hooks_.value ? hooks_.value(names_.value(symbol)) : "";
  return text.empty() ? std::string(symbol) : text;
}

void ExprPrinter::begin(std::initializer_list<ExprId> roots) {
  uses_.clear();
  known_.clear();
  for (const ExprId root : roots)
    if (root != kNoExpr) count_uses(root);
}

void ExprPrinter::count_uses(ExprId e) {
  if (++uses_[e] > 1) return;
  for (const ExprId operand : nest_.expr(e).operands)
    if (operand != kNoExpr) count_uses(operand);
}

std::string ExprPrinter::operand(ExprId e) {
  Text x = emit(e);
  return in_parentheses(std::move(x.code), x.atomic);
}

std::string ExprPrinter::expression(ExprId e) {
  return emit(e).code;
}

std::string ExprPrinter::stored(DType dtype, ExprId id) {
  const Expr& e = nest_.expr(id);
  // The store itself rounds.
  const bool rounds = e.kind == Expr::Kind::kCast && (dtype == DType::kF16 || dtype == DType::kBF16) &&
                      nest_.expr(e.operands[0]).dtype == DType::kF32;
  return stored_text(dtype, expression(rounds ? e.operands[0] : id));
}

void ExprPrinter::print(const loop::Let& let) {
  begin({let.expr});
  const std::string x = expression(let.expr);
  const DType dtype = nest_.values[static_cast<size_t>(let.value)].dtype;
  out_.line("const {} v{} = {};", scalar_type(lane_of(dtype)), let.value, x);
}

void ExprPrinter::print(const loop::Store& store) {
  begin({store.predicate, store.expr});
  if (hooks_.store && hooks_.store(store)) return;
  const DType dtype = nest_.buffers[static_cast<size_t>(store.buffer)].dtype;
  if (store.predicate != kNoExpr) {
    out_.open("if ({})", expression(store.predicate));
    known_.clear();
  }
  const std::string x = stored(dtype, store.expr);
  out_.line("b{}[{}] = {};", store.buffer, index(store.index), x);
  if (store.predicate != kNoExpr) {
    out_.close();
    known_.clear();
  }
}

void ExprPrinter::print(const loop::Body& body) {
  for (const loop::Stmt& stmt : body) {
    if (const auto* let = std::get_if<loop::Let>(&stmt.node)) print(*let);
    if (const auto* store = std::get_if<loop::Store>(&stmt.node)) print(*store);
  }
}

ExprPrinter::Text ExprPrinter::emit(ExprId id) {
  if (const auto it = known_.find(id); it != known_.end()) return it->second;
  Text x = emit_new(id);
  const Expr& e = nest_.expr(id);
  const bool leaf = e.kind == Expr::Kind::kConst || e.kind == Expr::Kind::kValue;
  if (!leaf && (uses_[id] > 1 || x.code.size() > kLongText)) {
    const std::string name = fresh("t");
    out_.line("const {} {} = {};", scalar_type(lane_of(e.dtype)), name, x.code);
    x = {.code = name};
  }
  known_[id] = x;
  return x;
}

ExprPrinter::Text ExprPrinter::emit_new(ExprId id) {
  const Expr& e = nest_.expr(id);
  const Lane lane = lane_of(e.dtype);
  if (hooks_.node && e.operands[0] != kNoExpr && e.kind != Expr::Kind::kLoad)
    if (std::string text = hooks_.node(id); !text.empty()) return {.code = std::move(text)};
  switch (e.kind) {
    case Expr::Kind::kConst: {
      std::string code = is_float(lane) ? number_literal(e.number, lane) : integer_literal(e.integer, lane);
      const bool atomic = code.front() != '-';
      return {.code = std::move(code), .atomic = atomic};
    }
    case Expr::Kind::kSize:
      return {.code = cast(fmt::format("(i64)({})", index(e.index)), DType::kI64, e.dtype), .atomic = false};
    case Expr::Kind::kValue: {
      std::string text = hooks_.value ? hooks_.value(e.id) : "";
      return {.code = text.empty() ? fmt::format("v{}", e.id) : text};
    }
    case Expr::Kind::kLoad:
    case Expr::Kind::kLocal:
      if (hooks_.leaf)
        if (std::string text = hooks_.leaf(id); !text.empty()) return {.code = std::move(text)};
      return load(e);
    case Expr::Kind::kUnary:
      return unary(e);
    case Expr::Kind::kBinary:
    case Expr::Kind::kCompare:
      return binary(e);
    case Expr::Kind::kSelect: {
      const std::string c = operand(e.operands[0]), a = operand(e.operands[1]), b = operand(e.operands[2]);
      return {.code = fmt::format("{} ? {} : {}", c, a, b), .atomic = false};
    }
    case Expr::Kind::kCast: {
      const std::string x = operand(e.operands[0]);
      std::string code = cast(x, nest_.expr(e.operands[0]).dtype, e.dtype);
      const bool atomic = code == x;
      return {.code = std::move(code), .atomic = atomic};
    }
  }
  return {};
}

ExprPrinter::Text ExprPrinter::load(const Expr& e) {
  const char kind = e.kind == Expr::Kind::kLoad ? 'b' : 'c';
  const std::string element = loaded(e.dtype, fmt::format("{}{}[{}]", kind, e.id, index(e.index)));
  if (e.operands[0] == kNoExpr) return {.code = element, .atomic = e.dtype != DType::kBool};
  const std::string mask = operand(e.operands[0]), other = operand(e.operands[1]);
  return {.code = fmt::format("{} ? {} : {}", mask, element, other), .atomic = false};
}

ExprPrinter::Text ExprPrinter::unary(const Expr& e) {
  const DType dtype = nest_.expr(e.operands[0]).dtype;
  const Lane lane = lane_of(dtype);
  const std::string x = operand(e.operands[0]);
  if (is_float(lane)) {
    switch (e.op) {
      case ScalarOp::kNeg:
        return {.code = "-" + x, .atomic = false};
      case ScalarOp::kRcp:
        return {.code = fmt::format("{} / {}", number_literal(1, lane), x), .atomic = false};
      case ScalarOp::kIsNan:
        return {.code = fmt::format("is_nan({})", x)};
      default:
        return {.code = fmt::format("{}{}({})", math_function(e.op), lane == Lane::kF32 ? "f" : "", x)};
    }
  }
  const std::string_view type = scalar_type(lane);
  const std::string negative =
      wrapped(dtype, fmt::format("({0})(0 - ({1}){2})", type, lane == Lane::kI64 ? "u64" : "u32", x));
  switch (e.op) {
    case ScalarOp::kNot:
      return {.code = lane == Lane::kBool ? "!" + x : wrapped(dtype, "~" + x), .atomic = false};
    case ScalarOp::kNeg:
      return {.code = negative, .atomic = false};
    case ScalarOp::kAbs:
      return {.code = fmt::format("{0} < 0 ? {1} : {0}", x, negative), .atomic = false};
    default:  // rounding leaves integers as they are
      return {.code = x};
  }
}

ExprPrinter::Text ExprPrinter::binary(const Expr& e) {
  const DType dtype = nest_.expr(e.operands[0]).dtype;
  const Lane lane = lane_of(dtype);
  const std::string a = operand(e.operands[0]), b = operand(e.operands[1]);
  if (const char* op = infix_compare(e.op))
    return {.code = fmt::format("{} {} {}", a, op, b), .atomic = false};
  return is_float(lane) ? float_binary(e.op, lane, a, b) : integer_binary(e.op, dtype, a, b);
}

ExprPrinter::Text ExprPrinter::float_binary(ScalarOp op, Lane lane, const std::string& a,
                                            const std::string& b) {
  const char* suffix = lane == Lane::kF32 ? "f" : "";
  const auto infix = [&](const char* sign) {
    return Text{.code = fmt::format("{} {} {}", a, sign, b), .atomic = false};
  };
  switch (op) {
    case ScalarOp::kAdd:
      return infix("+");
    case ScalarOp::kSub:
      return infix("-");
    case ScalarOp::kMul:
      return infix("*");
    case ScalarOp::kDiv:
      return infix("/");
    case ScalarOp::kMin:
    case ScalarOp::kMax:
      return {.code = fmt::format("{}_of({}, {})", loop::scalar_op_name(op), a, b)};
    case ScalarOp::kFloorDiv:
      return {.code = fmt::format("floor{}({} / {})", suffix, a, b)};
    case ScalarOp::kMod:
      return {.code = fmt::format("mod_{}({}, {})", lane_name(lane), a, b)};
    default:
      return {.code = fmt::format("{}{}({}, {})", loop::scalar_op_name(op), suffix, a, b)};
  }
}

ExprPrinter::Text ExprPrinter::integer_binary(ScalarOp op, DType dtype, const std::string& a,
                                              const std::string& b) {
  const Lane lane = lane_of(dtype);
  const bool logical = lane == Lane::kBool;
  const std::string_view type = scalar_type(lane);
  const auto infix = [&](const char* sign) {
    return Text{.code = fmt::format("{} {} {}", a, sign, b), .atomic = false};
  };
  // Unsigned: signed numbers must not overflow.
  const auto wrapping = [&](const char* sign) {
    return Text{.code = wrapped(dtype, fmt::format("({0})(({1}){2} {3} ({1}){4})", type,
                                                   lane == Lane::kI64 ? "u64" : "u32", a, sign, b)),
                .atomic = false};
  };
  const auto function = [&](std::string_view extra = "") {
    return Text{.code = wrapped(
                    dtype, fmt::format("{}_int<{}>({}, {}{})", loop::scalar_op_name(op), type, a, b, extra)),
                .atomic = !is_narrow(dtype)};
  };
  switch (op) {
    case ScalarOp::kAdd:
      return logical ? infix("||") : wrapping("+");
    case ScalarOp::kSub:
      return logical ? infix("!=") : wrapping("-");
    case ScalarOp::kMul:
      return logical ? infix("&&") : wrapping("*");
    case ScalarOp::kAnd:
      return infix(logical ? "&&" : "&");
    case ScalarOp::kOr:
      return infix(logical ? "||" : "|");
    case ScalarOp::kXor:
      return infix(logical ? "!=" : "^");
    case ScalarOp::kMin:
      return logical ? infix("&&") : Text{.code = fmt::format("min_of<{}>({}, {})", type, a, b)};
    case ScalarOp::kMax:
      return logical ? infix("||") : Text{.code = fmt::format("max_of<{}>({}, {})", type, a, b)};
    case ScalarOp::kShl:
    case ScalarOp::kShr:
      return function(fmt::format(", {}", dtype_size(dtype) * 8));
    default:
      return function();
  }
}

}  // namespace edge_infer::cuda
