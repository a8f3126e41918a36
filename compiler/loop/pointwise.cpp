#include "compiler/loop/pointwise.h"

#include <algorithm>
#include <string_view>

#include "compiler/graph/host_tensor.h"
#include "compiler/graph/op_table.h"
#include "compiler/graph/ops.h"

namespace edge_infer::loop {
namespace {

using enum ScalarOp;

struct UnaryRow {
  std::string_view op;
  ScalarOp scalar;
};
// Defined on floats; integers and bools are taken as f32.
constexpr UnaryRow kFloatUnary[] = {{"aten.sqrt", kSqrt},   {"aten.rsqrt", kRsqrt}, {"aten.reciprocal", kRcp},
                                    {"aten.exp", kExp},     {"aten.exp2", kExp2},   {"aten.log", kLog},
                                    {"aten.log1p", kLog1p}, {"aten.tanh", kTanh},   {"aten.erf", kErf},
                                    {"aten.sin", kSin},     {"aten.cos", kCos}};
// Defined on the operand's own type; the last three are the identity on integers.
constexpr UnaryRow kNumericUnary[] = {{"aten.neg", kNeg},
                                      {"aten.abs", kAbs},
                                      {"aten.floor", kFloor},
                                      {"aten.ceil", kCeil},
                                      {"aten.round", kRound}};
// Of two tensors or a tensor and a number (`.Scalar`).
constexpr UnaryRow kBinary[] = {
    {"aten.add", kAdd},       {"aten.sub", kSub},        {"aten.mul", kMul},     {"aten.div", kDiv},
    {"aten.pow", kPow},       {"aten.maximum", kMax},    {"aten.minimum", kMin}, {"aten.remainder", kMod},
    {"aten.atan2", kAtan2},   {"aten.eq", kEq},          {"aten.ne", kNe},       {"aten.lt", kLt},
    {"aten.le", kLe},         {"aten.gt", kGt},          {"aten.ge", kGe},       {"aten.bitwise_and", kAnd},
    {"aten.bitwise_or", kOr}, {"aten.bitwise_xor", kXor}};

template <size_t N>
std::optional<ScalarOp> find(const UnaryRow (&rows)[N], std::string_view op) {
  for (const UnaryRow& row : rows)
    if (row.op == op) return row.scalar;
  return std::nullopt;
}

bool is_compare(ScalarOp op) {
  return op >= kEq;
}

double number_of(const Attribute& a) {
  if (const auto* value = std::get_if<double>(&a)) return *value;
  if (const auto* value = std::get_if<bool>(&a)) return *value ? 1 : 0;
  return static_cast<double>(std::get<int64_t>(a));
}
int64_t integer_of(const Attribute& a) {
  if (const auto* value = std::get_if<bool>(&a)) return *value ? 1 : 0;
  if (const auto* value = std::get_if<double>(&a)) return static_cast<int64_t>(*value);
  return std::get<int64_t>(a);
}

constexpr double kSqrtHalf = 0.7071067811865476, kSqrtTwoOverPi = 0.7978845608028654, kCubic = 0.044715;

class Pointwise {
 public:
  Pointwise(ExprBuilder& b, const Graph& graph, const Node& node, std::span<const ExprId> operands)
      : b_(b),
        graph_(graph),
        node_(node),
        operands_(operands),
        result_(graph.value(node.outputs[0]).type.dtype) {}

  ExprId run() { return b_.cast(value(), result_); }

 private:
  ExprId value() {
    std::string_view op = node_.op->name;
    if (op == "aten.clone" || op == "aten._to_copy") return operands_[0];
    if (op == "aten.where") return b_.select(operands_[0], in(1, result_), in(2, result_));
    if (op == "aten.clamp" || op == "aten.clamp_min" || op == "aten.clamp_max") return clamp();
    if (op == "aten.logical_not") return b_.unary(kNot, b_.cast(operands_[0], DType::kBool));
    if (op == "aten.logical_and" || op == "aten.logical_or")
      return b_.binary(op == "aten.logical_and" ? kAnd : kOr, b_.cast(operands_[0], DType::kBool),
                       b_.cast(operands_[1], DType::kBool));
    if (op == "aten.isnan")
      return is_floating(b_.dtype(operands_[0])) ? b_.unary(kIsNan, operands_[0])
                                                 : b_.integer(0, DType::kBool);
    if (const auto unary = find(kFloatUnary, op)) return b_.unary(*unary, in(0, result_));
    if (const auto unary = find(kNumericUnary, op)) {
      const bool is_identity = *unary >= kFloor && !is_floating(result_);
      return is_identity ? operands_[0] : b_.unary(*unary, in(0, result_));
    }
    if (op == "aten.sign") return sign();
    if (op == "aten.relu") return b_.binary(kMax, in(0, result_), zero());
    if (op == "aten.sigmoid") return b_.binary(kDiv, number(1), one_plus_exp_of_minus(in(0, result_)));
    if (op == "aten.silu") {
      const ExprId x = in(0, result_);
      return b_.binary(kDiv, x, one_plus_exp_of_minus(x));
    }
    if (op == "aten.gelu") return gelu();
    constexpr std::string_view kSuffix = ".Scalar";
    const bool has_scalar = op.ends_with(kSuffix);
    if (has_scalar) op.remove_suffix(kSuffix.size());
    return binary(*find(kBinary, op), has_scalar);
  }

  // Operand i as `type` sees it, in the type that arithmetic on that is done in.
  ExprId in(size_t i, DType type) { return b_.cast(b_.cast(operands_[i], type), compute_dtype(type)); }
  ExprId number(double value) { return b_.number(value, compute_dtype(result_)); }
  ExprId zero() {
    const DType compute = compute_dtype(result_);
    return is_floating(compute) ? b_.number(0, compute) : b_.integer(0, compute);
  }
  ExprId constant(const Attribute& value, DType dtype) {
    return is_floating(dtype) ? b_.number(round_to(dtype, number_of(value)), dtype)
                              : b_.integer(integer_of(value), dtype);
  }
  PromotionOperand promotion_of(size_t i) const {
    const TensorType& type = graph_.value(node_.inputs[i]).type;
    return promotion_operand(type.dtype, type.rank());
  }

  ExprId binary(ScalarOp op, bool has_scalar) {
    const Attribute none;
    const Attribute& scalar = has_scalar ? attribute(node_, "scalar") : none;
    const PromotionOperand operands[] = {promotion_of(0),
                                         has_scalar ? promotion_operand(scalar) : promotion_of(1)};
    DType type = promote(operands);
    if (!is_floating(type) && is_floating(result_)) type = result_;  // true division
    const DType compute = compute_dtype(type);
    const ExprId a = in(0, type);
    ExprId b = kNoExpr;
    if (!has_scalar) {
      b = in(1, type);
    } else if (is_compare(op) && is_floating(type)) {
      b = b_.number(round_to(type, number_of(scalar)), compute);
    } else {
      b = constant(scalar, compute);
    }
    if (type == DType::kBool && !is_compare(op)) {
      // As the integers 0 and 1, stored as a truth.
      op = op == kAdd || op == kMax ? kOr : op == kMul || op == kMin ? kAnd : op;
    }
    if (op == kPow && is_floating(type) && has_scalar && number_of(scalar) == 2) return b_.binary(kMul, a, a);
    return b_.binary(op, a, b);
  }

  ExprId clamp() {
    ExprId x = in(0, result_);
    const DType compute = compute_dtype(result_);
    // The lower bound first, so that the upper one wins where they cross.
    for (const char* name : {"min", "max"}) {
      for (const auto& [given, bound] : node_.attributes) {
        if (given != name || std::holds_alternative<std::monostate>(bound)) continue;
        const ExprId limit = is_floating(compute) ? b_.number(number_of(bound), compute)
                                                  : b_.integer(integer_of(bound), compute);
        x = b_.binary(given == "min" ? kMax : kMin, x, limit);
      }
    }
    return x;
  }

  ExprId sign() {
    if (result_ == DType::kBool) return operands_[0];
    const ExprId x = in(0, result_);
    const DType compute = compute_dtype(result_);
    const auto constant = [&](int64_t v) {
      return is_floating(compute) ? b_.number(static_cast<double>(v), compute) : b_.integer(v, compute);
    };
    const ExprId negative = b_.select(b_.binary(kLt, x, constant(0)), constant(-1), constant(0));
    return b_.select(b_.binary(kGt, x, constant(0)), constant(1), negative);
  }

  ExprId one_plus_exp_of_minus(ExprId x) {
    return b_.binary(kAdd, b_.unary(kExp, b_.unary(kNeg, x)), number(1));
  }

  ExprId gelu() {
    const ExprId x = in(0, result_);
    ExprId inner = kNoExpr;
    if (attribute_as<std::string>(node_, "approximate") == "tanh") {
      const ExprId square = b_.binary(kMul, x, x);
      const ExprId cubic = b_.binary(kAdd, b_.binary(kMul, square, number(kCubic)), number(1));
      const ExprId argument = b_.binary(kMul, b_.binary(kMul, x, number(kSqrtTwoOverPi)), cubic);
      inner = b_.unary(kTanh, argument);
    } else {
      inner = b_.unary(kErf, b_.binary(kMul, x, number(kSqrtHalf)));
    }
    return b_.binary(kMul, b_.binary(kMul, x, number(0.5)), b_.binary(kAdd, inner, number(1)));
  }

  ExprBuilder& b_;
  const Graph& graph_;
  const Node& node_;
  std::span<const ExprId> operands_;
  DType result_;
};

}  // namespace

DType compute_dtype(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return DType::kF32;
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
      return DType::kI32;
    default:
      return dtype;
  }
}

bool is_pointwise(const Node& node) {
  return node.op->kind == OpKind::kPointwise || node.op->name == "aten.clone";
}

int pointwise_cost(const Node& node) {
  struct Row {
    std::string_view op;
    int cost;
  };
  static constexpr Row kRows[] = {
      {"aten.clone", 0}, {"aten.gelu", 12}, {"aten.sigmoid", 8}, {"aten.silu", 8},   {"aten.exp", 5},
      {"aten.exp2", 5},  {"aten.log", 5},   {"aten.log1p", 5},   {"aten.tanh", 8},   {"aten.erf", 8},
      {"aten.sin", 8},   {"aten.cos", 8},   {"aten.pow", 10},    {"aten.atan2", 10}, {"aten.pow.Scalar", 10}};
  for (const Row& row : kRows)
    if (row.op == node.op->name) return row.cost;
  return 1;
}

ExprId lower_pointwise(ExprBuilder& b, const Graph& graph, const Node& node,
                       std::span<const ExprId> operands) {
  return Pointwise(b, graph, node, operands).run();
}

}  // namespace edge_infer::loop
