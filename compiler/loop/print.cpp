#include "compiler/loop/print.h"

#include <charconv>
#include <cmath>

#include "compiler/loop/op_rules.h"
#include "compiler/loop/text.h"

namespace edge_infer::loop {
namespace {

// Binding strength of what an expression prints as.
enum Strength { kCompareStrength = 1, kSumStrength, kProductStrength, kSignStrength, kAtomStrength };

// Bounds on what a nest that does not verify may print.
constexpr int kMaxDepth = 2 * kMaxExprDepth;
constexpr int64_t kMaxNodes = 4 * kMaxExprNodes;

const char* infix(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
      return " + ";
    case ScalarOp::kSub:
      return " - ";
    case ScalarOp::kMul:
      return " * ";
    case ScalarOp::kDiv:
      return " / ";
    case ScalarOp::kEq:
      return " == ";
    case ScalarOp::kNe:
      return " != ";
    case ScalarOp::kLt:
      return " < ";
    case ScalarOp::kLe:
      return " <= ";
    case ScalarOp::kGt:
      return " > ";
    case ScalarOp::kGe:
      return " >= ";
    default:
      return nullptr;
  }
}

Strength infix_strength(ScalarOp op) {
  if (is_compare(op)) return kCompareStrength;
  return op == ScalarOp::kAdd || op == ScalarOp::kSub ? kSumStrength : kProductStrength;
}

std::string constant_text(const Expr& e) {
  if (e.dtype == DType::kBool) return e.integer != 0 ? "true" : "false";
  if (e.dtype == DType::kF32) return print_number(e.number);
  return (is_floating(e.dtype) ? print_number(e.number) : std::to_string(e.integer)) + ':' +
         std::string(dtype_name(e.dtype));
}

class Printer {
 public:
  explicit Printer(const LoopNest& nest) : nest_(nest) {}

  std::string nest(bool named) {
    out_ = "nest ";
    if (named && !nest_.name.empty()) out_ += '@' + plain_name(nest_.name) + ' ';
    out_ += "class " + nest_.accumulation_class;
    if (!nest_.symbols.empty()) out_ += " symbols(" + symbols_text(nest_.symbols) + ')';
    out_ += "\n    (";
    for (size_t i = 0; i < nest_.buffers.size(); ++i) {
      const Buffer& buffer = nest_.buffers[i];
      out_ += fmt::format("{}b{}: {} {}", i > 0 ? ", " : "", i, access_name(buffer.access),
                          type_text(buffer.dtype, buffer.sizes));
    }
    out_ += ") {\n";
    body(nest_.body, 1);
    return std::move(out_) + "}\n";
  }

  std::string expression(ExprId id) {
    expr(id, kCompareStrength, 0);
    return std::move(out_);
  }

 private:
  void body(const Body& statements, size_t level) {
    for (const Stmt& stmt : statements) {
      out_.append(2 * level, ' ');
      std::visit([&](const auto& node) { write(node, level); }, stmt.node);
      out_ += '\n';
    }
  }
  void block(const Body& statements, size_t level) {
    out_ += " {\n";
    body(statements, level + 1);
    out_.append(2 * level, ' ');
    out_ += '}';
  }

  std::string axis_text(AxisId id) const {
    if (id < 0 || static_cast<size_t>(id) >= nest_.axes.size()) return "?";
    const Axis& axis = nest_.axis(id);
    const std::string begin = axis.begin == SymInt(0) ? "" : axis.begin.str() + "..";
    return axis.name + ':' + begin + axis.extent.str();
  }

  void write(const For& loop, size_t level) {
    out_ += "for " + axis_text(loop.axis);
    if (loop.axis >= 0 && static_cast<size_t>(loop.axis) < nest_.axes.size())
      out_ += std::string(" ") + axis_kind_name(nest_.axis(loop.axis).kind);
    block(loop.body, level);
  }
  void write(const Let& let, size_t) {
    out_ += fmt::format("%v{} = ", let.value);
    expr(let.expr, kCompareStrength, 0);
  }
  void write(const DeclareLocal& declare, size_t) {
    out_ += fmt::format("local c{}: ", declare.local);
    if (declare.local < 0 || static_cast<size_t>(declare.local) >= nest_.locals.size()) return;
    const Local& local = nest_.locals[static_cast<size_t>(declare.local)];
    out_ += type_text(local.dtype, {local.size});
  }
  void write(const StoreLocal& store, size_t) {
    out_ += fmt::format("c{}[{}] = ", store.local, store.index.str());
    expr(store.expr, kCompareStrength, 0);
  }
  void write(const Store& store, size_t) {
    out_ += fmt::format("b{}[{}] = ", store.buffer, store.index.str());
    expr(store.expr, kCompareStrength, 0);
    if (store.predicate == kNoExpr) return;
    out_ += " if ";
    expr(store.predicate, kCompareStrength, 0);
  }
  void write(const Reduce& reduce, size_t) {
    for (size_t i = 0; i < reduce.values.size(); ++i)
      out_ += fmt::format("{}%v{}", i > 0 ? ", " : "", reduce.values[i]);
    out_ += fmt::format(" = reduce {}(", reduce_op_name(reduce.op));
    expr(reduce.expr, kCompareStrength, 0);
    out_ += ") over ";
    for (size_t i = 0; i < reduce.axes.size(); ++i) {
      out_ += (i > 0 ? ", " : "") + axis_text(reduce.axes[i]);
      const auto id = static_cast<size_t>(reduce.axes[i]);
      if (id < nest_.axes.size() && nest_.axes[id].kind == AxisKind::kSegment) out_ += " segment";
    }
  }
  void write(const Gemm& gemm, size_t level) {
    out_ += fmt::format("gemm %v{} over {}, {} a(", gemm.value, axis_text(gemm.n), axis_text(gemm.k));
    expr(gemm.a, kCompareStrength, 0);
    out_ += fmt::format(") w(b{})", gemm.weight);
    block(gemm.body, level);
  }
  void write(const Attention& a, size_t) {
    out_ += fmt::format("attention heads {} kv_heads {} dim {} block_rows {} scale {}", a.heads, a.kv_heads,
                        a.dim, a.block_rows, print_number(a.scale));
    if (a.causal) out_ += " causal";
    const auto view = [this](const char* name, const Attention::View& v) {
      out_ += fmt::format(" {}(b{} row {} offset {})", name, v.buffer, v.row, v.offset);
    };
    view("q", a.q);
    view("k", a.k);
    view("v", a.v);
    view("out", a.out);
    out_ += fmt::format(" cu(b{}) units(b{})", a.cu, a.units);
  }

  void call(std::string_view name, const Expr& e, size_t operands, int depth) {
    out_ += name;
    out_ += '(';
    for (size_t i = 0; i < operands; ++i) {
      if (i > 0) out_ += ", ";
      expr(e.operands[i], kCompareStrength, depth + 1);
    }
    out_ += ')';
  }

  void expr(ExprId id, Strength context, int depth) {
    if (id < 0 || static_cast<size_t>(id) >= nest_.exprs.size() || depth > kMaxDepth ||
        ++nodes_ > kMaxNodes) {
      out_ += '?';
      return;
    }
    const Expr& e = nest_.expr(id);
    switch (e.kind) {
      case Expr::Kind::kConst:
        out_ += constant_text(e);
        return;
      case Expr::Kind::kSize:
        out_ += fmt::format("size({}):{}", e.index.str(), dtype_name(e.dtype));
        return;
      case Expr::Kind::kValue:
        out_ += fmt::format("%v{}", e.id);
        return;
      case Expr::Kind::kLocal:
        out_ += fmt::format("c{}[{}]", e.id, e.index.str());
        return;
      case Expr::Kind::kLoad:
        if (e.operands[0] == kNoExpr) {
          out_ += fmt::format("b{}[{}]", e.id, e.index.str());
          return;
        }
        out_ += fmt::format("load(b{}[{}], ", e.id, e.index.str());
        expr(e.operands[0], kCompareStrength, depth + 1);
        out_ += ", ";
        expr(e.operands[1], kCompareStrength, depth + 1);
        out_ += ')';
        return;
      case Expr::Kind::kSelect:
        return call("select", e, 3, depth);
      case Expr::Kind::kCast:
        return call(dtype_name(e.dtype), e, 1, depth);
      case Expr::Kind::kUnary:
        return unary(e, context, depth);
      case Expr::Kind::kBinary:
      case Expr::Kind::kCompare:
        return binary(e, context, depth);
    }
  }

  void unary(const Expr& e, Strength context, int depth) {
    const ExprId operand = e.operands[0];
    // `-1` is a constant.
    const bool on_constant = operand < 0 || static_cast<size_t>(operand) >= nest_.exprs.size() ||
                             nest_.expr(operand).kind == Expr::Kind::kConst;
    if (e.op != ScalarOp::kNeg || on_constant) return call(scalar_op_name(e.op), e, 1, depth);
    const bool enclosed = context > kSignStrength;
    if (enclosed) out_ += '(';
    out_ += '-';
    expr(operand, kSignStrength, depth + 1);
    if (enclosed) out_ += ')';
  }

  void binary(const Expr& e, Strength context, int depth) {
    const char* sign = infix(e.op);
    if (sign == nullptr) return call(scalar_op_name(e.op), e, 2, depth);
    const Strength own = infix_strength(e.op);
    const auto tighter = static_cast<Strength>(own + 1);
    const bool enclosed = own < context;
    if (enclosed) out_ += '(';
    expr(e.operands[0], own == kCompareStrength ? tighter : own, depth + 1);
    out_ += sign;
    expr(e.operands[1], tighter, depth + 1);
    if (enclosed) out_ += ')';
  }

  const LoopNest& nest_;
  std::string out_;
  int64_t nodes_ = 0;
};

}  // namespace

std::string print_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char digits[40];
  const std::string decimal(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  std::string hex(digits, std::to_chars(digits, digits + sizeof digits, value, std::chars_format::hex).ptr);
  hex.insert(hex[0] == '-' ? 1 : 0, "0x");
  return hex.size() < decimal.size() ? hex : decimal;
}

std::string print(const LoopNest& nest) {
  return Printer(nest).nest(true);
}
std::string print_identity(const LoopNest& nest) {
  return Printer(nest).nest(false);
}
std::string print(const LoopNest& nest, ExprId expr) {
  return Printer(nest).expression(expr);
}

}  // namespace edge_infer::loop
