// Expressions of a statement as C.
#include <variant>

#include "backends/cpu/codegen/kernel_printer.h"

namespace edge_infer::cpu_codegen {

using loop::Expr;
using loop::ExprId;
using loop::kNoExpr;
using loop::ScalarOp;

namespace {

// Longer text becomes a variable, for readers and for the compiler's limit on nesting.
constexpr size_t kLongText = 72;

std::string_view narrow_suffix(DType dtype) {
  switch (dtype) {
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
      return dtype_name(dtype);
    default:
      return "";
  }
}

}  // namespace

void KernelPrinter::begin_statement(std::initializer_list<ExprId> roots) {
  uses_.clear();
  known_.clear();
  for (const ExprId root : roots)
    if (root != kNoExpr) count_uses(root);
}

void KernelPrinter::count_uses(ExprId e) {
  if (++uses_[e] > 1) return;
  for (const ExprId operand : nest_.expr(e).operands)
    if (operand != kNoExpr) count_uses(operand);
}

bool KernelPrinter::varies(std::string_view symbol) const {
  if (!lanes_) return false;
  if (symbol == nest_.axis(lanes_->axis).name) return true;
  const int32_t value = names_.value(symbol);
  return value >= 0 && forms_[static_cast<size_t>(value)] == Form::kVector;
}

std::optional<SymInt> KernelPrinter::step_of(const SymInt& index) const {
  if (!lanes_) return SymInt(0);
  return lane_step(index, nest_.axis(lanes_->axis).name, lanes_->aligned ? 16 : 1,
                   [this](std::string_view symbol) { return varies(symbol); });
}

std::string KernelPrinter::symbol_name(std::string_view symbol, bool in_lane) const {
  if (const std::string_view size = names_.symbol(symbol); !size.empty()) return std::string(size);
  if (const loop::AxisId axis = names_.axis(symbol); axis >= 0) {
    const std::string name = names_.axis_name(axis);
    return in_lane && symbol == nest_.axis(lanes_->axis).name ? fmt::format("({} + l)", name) : name;
  }
  return in_lane && varies(symbol) ? fmt::format("{}[l]", symbol) : std::string(symbol);
}

std::string KernelPrinter::index_in_lane(const SymInt& index) const {
  return lane_index_.print(index);
}

std::string KernelPrinter::as_operand(const Text& x) const {
  return x.atomic ? x.code : fmt::format("({})", x.code);
}

std::string KernelPrinter::as_vector(const Text& x, Lane lane) const {
  return x.vector ? x.code : fmt::format("splat_{}({})", lane_name(lane), x.code);
}

Text KernelPrinter::named(const Text& x, Lane lane) {
  const std::string name = fresh("t");
  out_.line("const {} {} = {};", x.vector ? vector_type(lane) : scalar_type(lane), name, x.code);
  return {.code = name, .vector = x.vector, .atomic = true};
}

Text KernelPrinter::call(std::string_view function, Lane result,
                         std::initializer_list<std::pair<const Text*, Lane>> args, std::string_view extra) {
  bool vector = false;
  for (const auto& [text, lane] : args) vector = vector || text->vector;
  std::string code = fmt::format("{}(", function);
  bool first = true;
  for (const auto& [text, lane] : args) {
    if (!first) code += ", ";
    first = false;
    code += as_vector(*text, lane);
  }
  code += fmt::format("{})", extra);
  if (!vector) code = fmt::format("first_{}({})", lane_name(result), code);
  return {.code = std::move(code), .vector = vector, .atomic = true};
}

Text KernelPrinter::infix(const Text& a, std::string_view op, const Text& b, Lane lane, Lane result) {
  const bool vector = a.vector || b.vector;
  const auto operand = [&](const Text& x) {
    return vector && !x.vector ? as_vector(x, lane) : as_operand(x);
  };
  std::string code = fmt::format("{} {} {}", operand(a), op, operand(b));
  if (vector && result == Lane::kBool && is_wide(lane))
    return {.code = fmt::format("narrow_mask({})", code), .vector = true, .atomic = true};
  return {.code = std::move(code), .vector = vector, .atomic = false};
}

Text KernelPrinter::emit(ExprId id) {
  if (const auto it = known_.find(id); it != known_.end()) return it->second;
  Text x = emit_new(id);
  const Expr& e = nest_.expr(id);
  const bool leaf = e.kind == Expr::Kind::kConst || e.kind == Expr::Kind::kValue;
  if (!leaf && (uses_[id] > 1 || x.code.size() > kLongText)) x = named(x, lane_of(e.dtype));
  known_[id] = x;
  return x;
}

Text KernelPrinter::emit_new(ExprId id) {
  const Expr& e = nest_.expr(id);
  const Lane lane = lane_of(e.dtype);
  switch (e.kind) {
    case Expr::Kind::kConst: {
      std::string code = is_float(lane) ? number_literal(e.number, lane) : integer_literal(e.integer, lane);
      const bool atomic = code.front() != '-';
      return {.code = std::move(code), .vector = false, .atomic = atomic};
    }
    case Expr::Kind::kSize:
      return size_value(e);
    case Expr::Kind::kValue:
      return {.code = fmt::format("v{}", e.id), .vector = forms_[static_cast<size_t>(e.id)] == Form::kVector};
    case Expr::Kind::kLoad:
      return element(e.dtype, fmt::format("b{}", e.id), e.index, e.operands[0] != kNoExpr ? &e : nullptr);
    case Expr::Kind::kLocal:
      return element(e.dtype, fmt::format("c{}", e.id), e.index, nullptr);
    case Expr::Kind::kUnary:
      return unary(e);
    case Expr::Kind::kBinary:
    case Expr::Kind::kCompare:
      return binary(e);
    case Expr::Kind::kSelect:
      return select(e);
    case Expr::Kind::kCast:
      return cast(emit(e.operands[0]), nest_.expr(e.operands[0]).dtype, e.dtype);
  }
  return {};
}

Text KernelPrinter::element(DType dtype, const std::string& pointer, const SymInt& index,
                            const Expr* predicated) {
  const std::string_view type = dtype_name(dtype);
  const Lane lane = lane_of(dtype);
  const std::optional<SymInt> step = step_of(index);
  Text mask, other;
  if (predicated != nullptr) {
    mask = emit(predicated->operands[0]);
    other = emit(predicated->operands[1]);
  }
  const std::string at = fmt::format("{} + {}", pointer, index_.operand(index));
  const bool moves = !step || step->constant() != 0;
  if (!moves && !mask.vector) {
    std::string code = fmt::format("load1_{}({})", type, at);
    if (predicated == nullptr) return {.code = std::move(code)};
    if (!other.vector)
      return {.code = fmt::format("{} ? {} : {}", as_operand(mask), code, as_operand(other)),
              .atomic = false};
    return {.code = fmt::format("{} ? splat_{}({}) : {}", as_operand(mask), lane_name(lane), code,
                                as_operand(other)),
            .vector = true,
            .atomic = false};
  }
  if (step && step->constant() == 1) {
    if (mask.vector) {
      const std::string lanes =
          lanes_->whole ? mask.code : fmt::format("{} & below(lanes)", as_operand(mask));
      return {.code = fmt::format("select_{}({}, load_if_{}({}, {}), {})", lane_name(lane), mask.code, type,
                                  at, lanes, as_vector(other, lane)),
              .vector = true};
    }
    const std::string code =
        lanes_->whole ? fmt::format("load_{}({})", type, at) : fmt::format("load_n_{}({}, lanes)", type, at);
    if (predicated == nullptr) return {.code = code, .vector = true};
    return {.code = fmt::format("{} ? {} : {}", as_operand(mask), code, as_vector(other, lane)),
            .vector = true,
            .atomic = false};
  }
  if (predicated != nullptr) mask = named(mask, Lane::kBool);
  Text x = gather(dtype, pointer, index, predicated != nullptr ? &mask : nullptr);
  if (predicated == nullptr) return x;
  if (!mask.vector)
    return {.code = fmt::format("{} ? {} : {}", mask.code, x.code, as_vector(other, lane)),
            .vector = true,
            .atomic = false};
  return {.code = fmt::format("select_{}({}, {}, {})", lane_name(lane), mask.code, x.code,
                              as_vector(other, lane)),
          .vector = true};
}

// Lane by lane; lanes that the mask leaves out are 0 and not read.
Text KernelPrinter::gather(DType dtype, const std::string& pointer, const SymInt& index, const Text* mask) {
  const Lane lane = lane_of(dtype);
  const std::string name = fresh("t");
  const std::optional<SymInt> step = step_of(index);
  const std::string place =
      step ? fmt::format("{} + l * {}", index_.print(index), index_.operand(*step)) : index_in_lane(index);
  out_.line("{} {} = splat_{}(0);", vector_type(lane), name, lane_name(lane));
  out_.open("for (int64_t l = 0; l < {}; ++l)", lane_end());
  std::string condition;
  if (mask != nullptr) condition = fmt::format("if ({}) ", mask->vector ? mask->code + "[l]" : mask->code);
  out_.line("{}{}[l] = {}load1_{}({} + ({}));", condition, name, lane == Lane::kBool ? "-" : "",
            dtype_name(dtype), pointer, place);
  out_.close();
  return {.code = name, .vector = true};
}

Text KernelPrinter::size_value(const Expr& e) {
  const std::optional<SymInt> step = step_of(e.index);
  Text x{.code = index_.operand(e.index)};
  if (!step) {
    const std::string name = fresh("t");
    out_.line("i64x16 {} = splat_i64(0);", name);
    out_.open("for (int64_t l = 0; l < {}; ++l)", lane_end());
    out_.line("{}[l] = {};", name, index_in_lane(e.index));
    out_.close();
    x = {.code = name, .vector = true};
  } else if (step->constant() != 0) {
    const std::string moved =
        step->constant() == 1 ? "iota_i64()" : fmt::format("iota_i64() * splat_i64({})", index_.print(*step));
    x = {.code = fmt::format("splat_i64({}) + {}", index_.print(e.index), moved),
         .vector = true,
         .atomic = false};
  }
  return cast(x, DType::kI64, e.dtype);
}

Text KernelPrinter::unary(const Expr& e) {
  const Text x = emit(e.operands[0]);
  const DType dtype = nest_.expr(e.operands[0]).dtype;
  const Lane lane = lane_of(dtype);
  const std::string_view suffix = lane_name(lane);
  const auto wrapped = [&](const Text& y) {
    const std::string_view narrow = narrow_suffix(dtype);
    return narrow.empty() ? y : call(fmt::format("wrap_{}", narrow), lane, {{&y, lane}});
  };
  if (is_float(lane)) {
    if (e.op == ScalarOp::kNeg)
      return {.code = fmt::format("-{}", as_operand(x)), .vector = x.vector, .atomic = false};
    if (e.op == ScalarOp::kIsNan) return call(fmt::format("isnan_{}", suffix), Lane::kBool, {{&x, lane}});
    return call(fmt::format("{}_{}", loop::scalar_op_name(e.op), suffix), lane, {{&x, lane}});
  }
  switch (e.op) {
    case ScalarOp::kNot:
      return {.code = fmt::format("{}{}", lane == Lane::kBool && !x.vector ? "!" : "~", as_operand(x)),
              .vector = x.vector,
              .atomic = false};
    case ScalarOp::kNeg:
    case ScalarOp::kAbs:
      return wrapped(call(fmt::format("{}_{}", loop::scalar_op_name(e.op), suffix), lane, {{&x, lane}}));
    default:  // rounding leaves integers as they are
      return x;
  }
}

Text KernelPrinter::binary(const Expr& e) {
  Text a = emit(e.operands[0]), b = emit(e.operands[1]);
  const DType dtype = nest_.expr(e.operands[0]).dtype;
  const Lane lane = lane_of(dtype);
  const std::string_view suffix = lane_name(lane);
  const auto function = [&] {
    return call(fmt::format("{}_{}", loop::scalar_op_name(e.op), suffix), lane, {{&a, lane}, {&b, lane}});
  };
  const char* compare = nullptr;
  switch (e.op) {
    case ScalarOp::kEq:
      compare = "==";
      break;
    case ScalarOp::kNe:
      compare = "!=";
      break;
    case ScalarOp::kLt:
      compare = "<";
      break;
    case ScalarOp::kLe:
      compare = "<=";
      break;
    case ScalarOp::kGt:
      compare = ">";
      break;
    case ScalarOp::kGe:
      compare = ">=";
      break;
    default:
      break;
  }
  if (compare != nullptr) {
    // True is -1 in a mask: the order of bools is that of their negations turned around.
    if (lane == Lane::kBool && (a.vector || b.vector)) std::swap(a, b);
    return infix(a, compare, b, lane, Lane::kBool);
  }
  if (!is_float(lane)) return integer_binary(e, a, b);
  switch (e.op) {
    case ScalarOp::kAdd:
      return infix(a, "+", b, lane, lane);
    case ScalarOp::kSub:
      return infix(a, "-", b, lane, lane);
    case ScalarOp::kMul:
      return infix(a, "*", b, lane, lane);
    case ScalarOp::kDiv:
      return infix(a, "/", b, lane, lane);
    default:
      return function();
  }
}

Text KernelPrinter::integer_binary(const Expr& e, const Text& a, const Text& b) {
  const Lane lane = lane_of(e.dtype);
  const std::string_view narrow = narrow_suffix(e.dtype);
  const auto wrapped = [&](const Text& y) {
    return narrow.empty() ? y : call(fmt::format("wrap_{}", narrow), lane, {{&y, lane}});
  };
  const auto wrapping = [&](std::string_view op) {
    Text y;
    if (a.vector || b.vector) {
      y = infix(a, op, b, lane, lane);
    } else {  // unsigned: signed scalars must not overflow
      const std::string_view type = lane == Lane::kI64 ? "uint64_t" : "uint32_t";
      y = {.code = fmt::format("({})(({}){} {} ({}){})", scalar_type(lane), type, as_operand(a), op, type,
                               as_operand(b)),
           .atomic = false};
    }
    return wrapped(y);
  };
  const auto function = [&](std::string_view extra = "") {
    return call(fmt::format("{}_{}", loop::scalar_op_name(e.op), lane_name(lane)), lane,
                {{&a, lane}, {&b, lane}}, extra);
  };
  const bool logical = lane == Lane::kBool;
  const std::string width = fmt::format(", {}", dtype_size(e.dtype) * 8);
  switch (e.op) {
    case ScalarOp::kAdd:
      return logical ? infix(a, "|", b, lane, lane) : wrapping("+");
    case ScalarOp::kSub:
      return wrapping("-");
    case ScalarOp::kMul:
      return logical ? infix(a, "&", b, lane, lane) : wrapping("*");
    case ScalarOp::kAnd:
      return infix(a, "&", b, lane, lane);
    case ScalarOp::kOr:
      return infix(a, "|", b, lane, lane);
    case ScalarOp::kXor:
      return infix(a, "^", b, lane, lane);
    case ScalarOp::kMin:
      return logical ? infix(a, "&", b, lane, lane) : function();
    case ScalarOp::kMax:
      return logical ? infix(a, "|", b, lane, lane) : function();
    case ScalarOp::kShl:
    case ScalarOp::kShr:
      return wrapped(function(width));
    default:
      return wrapped(function());
  }
}

Text KernelPrinter::select(const Expr& e) {
  const Text c = emit(e.operands[0]), a = emit(e.operands[1]), b = emit(e.operands[2]);
  const Lane lane = lane_of(e.dtype);
  if (c.vector)
    return {.code = fmt::format("select_{}({}, {}, {})", lane_name(lane), c.code, as_vector(a, lane),
                                as_vector(b, lane)),
            .vector = true};
  const bool vector = a.vector || b.vector;
  const auto side = [&](const Text& x) { return vector && !x.vector ? as_vector(x, lane) : as_operand(x); };
  return {.code = fmt::format("{} ? {} : {}", as_operand(c), side(a), side(b)),
          .vector = vector,
          .atomic = false};
}

}  // namespace edge_infer::cpu_codegen
