// Pointwise ops of two tensors (and `where`): promotion and broadcasting as in ATen.
#include <algorithm>
#include <cmath>
#include <functional>

#include "compiler/graph/arithmetic.h"
#include "compiler/graph/evaluators.h"
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/print.h"

namespace edge_infer {
namespace {

using Doubles = std::span<const double>;
using Integers = std::span<const int64_t>;

Result<TensorType> promoted(const InferContext& c) {
  EDGE_INFER_ASSIGN(Sizes sizes, broadcast_sizes(c.inputs[0]->sizes, c.inputs[1]->sizes));
  const PromotionOperand operands[] = {promotion_operand(c.inputs[0]->dtype, c.inputs[0]->rank()),
                                       promotion_operand(c.inputs[1]->dtype, c.inputs[1]->rank())};
  return TensorType{promote(operands), std::move(sizes)};
}

std::unexpected<Error> wrong_type(const TensorType& type, const char* expected) {
  return fail(ErrorCode::kInvalidArgument, "the operands promote to {}, expected {}", dtype_name(type.dtype),
              expected);
}

Result<Types> infer_arithmetic(const InferContext& c) {
  EDGE_INFER_ASSIGN(TensorType type, promoted(c));
  return Types{std::move(type)};
}
Result<Types> infer_numeric(const InferContext& c) {
  EDGE_INFER_ASSIGN(TensorType type, promoted(c));
  if (type.dtype == DType::kBool) return wrong_type(type, "numbers");
  return Types{std::move(type)};
}
Result<Types> infer_float(const InferContext& c) {
  EDGE_INFER_ASSIGN(TensorType type, promoted(c));
  if (!is_floating(type.dtype)) type.dtype = DType::kF32;
  return Types{std::move(type)};
}
Result<Types> infer_bool(const InferContext& c) {
  EDGE_INFER_ASSIGN(TensorType type, promoted(c));
  type.dtype = DType::kBool;
  return Types{std::move(type)};
}
Result<Types> infer_bitwise(const InferContext& c) {
  EDGE_INFER_ASSIGN(TensorType type, promoted(c));
  if (is_floating(type.dtype)) return wrong_type(type, "integers or bools");
  return Types{std::move(type)};
}
Result<Types> infer_where(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_dtype(c, 0, DType::kBool));
  const InferContext branches{c.op, c.inputs.subspan(1), c.node, c.symbols};
  EDGE_INFER_ASSIGN(TensorType type, promoted(branches));
  EDGE_INFER_ASSIGN(type.sizes, broadcast_sizes(c.inputs[0]->sizes, type.sizes));
  return Types{std::move(type)};
}

template <auto OfDoubles, auto OfIntegers>
Status evaluate_binary(const EvaluateContext& c) {
  const DType compute = promoted_dtype(c.inputs);
  if (is_floating(compute)) {
    map_doubles(c, compute, [](Doubles v) { return static_cast<double>(OfDoubles(v[0], v[1])); });
  } else {
    map_integers(c, [](Integers v) { return static_cast<int64_t>(OfIntegers(v[0], v[1])); });
  }
  return {};
}

template <auto OfDoubles>
Status evaluate_float(const EvaluateContext& c) {
  const DType compute = promoted_dtype(c.inputs);
  map_doubles(c, is_floating(compute) ? compute : c.out().dtype,
              [](Doubles v) { return OfDoubles(v[0], v[1]); });
  return {};
}

double remainder_of(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

Status evaluate_remainder(const EvaluateContext& c) {
  if (!is_floating(promoted_dtype(c.inputs))) {
    const auto divisors = c.in(1).to_integers();
    if (c.out().elements() > 0 && std::find(divisors.begin(), divisors.end(), 0) != divisors.end())
      return fail(ErrorCode::kInvalidArgument, "integer remainder by zero");
  }
  return evaluate_binary<remainder_of, floor_remainder>(c);
}

// Comparisons see both operands in the promoted type, whatever the result's type is.
template <typename Compare>
constexpr EvaluateFn compare_evaluator() {
  return evaluate_binary<[](double a, double b) { return Compare{}(a, b); },
                         [](int64_t a, int64_t b) { return Compare{}(a, b); }>;
}
template <typename Combine>
constexpr EvaluateFn integer_evaluator() {
  return evaluate_binary<[](double, double) { return 0.0; },
                         [](int64_t a, int64_t b) { return Combine{}(a, b); }>;
}
// Each operand counts as true when it is not 0, NaN included.
template <auto Combine>
Status evaluate_logical(const EvaluateContext& c) {
  map_doubles(c, DType::kF64, [](Doubles v) { return Combine(v[0] != 0, v[1] != 0) ? 1.0 : 0.0; });
  return {};
}

Status evaluate_where(const EvaluateContext& c) {
  if (is_floating(c.out().dtype)) {
    map_doubles(c, c.out().dtype, [](Doubles v) { return v[0] != 0 ? v[1] : v[2]; });
  } else {
    map_integers(c, [](Integers v) { return v[0] != 0 ? v[1] : v[2]; });
  }
  return {};
}

using Ids = std::span<const ValueId>;
using Grads = Result<std::vector<ValueId>>;

ValueId grad_of(GraphBuilder& b, ValueId grad, ValueId input) {
  return is_floating(b.type(input).dtype) ? sum_to(b, grad, b.type(input)) : kNoValue;
}
ValueId scalar_of(GraphBuilder& b, double value, ValueId like) {
  return b.op("aten.full", {}, {{"size", Sizes{}}, {"fill_value", value}, {"dtype", b.type(like).dtype}});
}

Grads derive_add(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  return std::vector{grad_of(b, g[0], in[0]), grad_of(b, g[0], in[1])};
}
Grads derive_sub(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  return std::vector{grad_of(b, g[0], in[0]), grad_of(b, b.op("aten.neg", {g[0]}), in[1])};
}
Grads derive_mul(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  return std::vector{grad_of(b, b.op("aten.mul", {g[0], in[1]}), in[0]),
                     grad_of(b, b.op("aten.mul", {g[0], in[0]}), in[1])};
}
Grads derive_div(GraphBuilder& b, const Node&, Ids in, Ids out, Ids g) {
  const ValueId quotient = b.op("aten.div", {g[0], in[1]});
  return std::vector{grad_of(b, quotient, in[0]),
                     grad_of(b, b.op("aten.neg", {b.op("aten.mul", {quotient, out[0]})}), in[1])};
}
Grads derive_pow(GraphBuilder& b, const Node&, Ids in, Ids out, Ids g) {
  const ValueId lower = b.op("aten.pow", {in[0], b.op("aten.sub.Scalar", {in[1]}, {{"scalar", 1.0}})});
  const ValueId base = b.op("aten.mul", {g[0], b.op("aten.mul", {in[1], lower})});
  // 0 ** y does not depend on y > 0; its log must not make NaN of that.
  const ValueId zero = b.op("aten.eq.Scalar", {in[0]}, {{"scalar", 0.0}});
  const ValueId log = b.op("aten.where", {zero, scalar_of(b, 0, out[0]), b.op("aten.log", {in[0]})});
  const ValueId exponent = b.op("aten.mul", {g[0], b.op("aten.mul", {out[0], log})});
  return std::vector{grad_of(b, base, in[0]), grad_of(b, exponent, in[1])};
}
// Ties share the gradient, as in PyTorch.
template <bool IsMax>
Grads derive_extremum(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  const ValueId half = b.op("aten.mul.Scalar", {g[0]}, {{"scalar", 0.5}});
  const ValueId zero = scalar_of(b, 0, g[0]);
  const ValueId tie = b.op("aten.eq", {in[0], in[1]});
  const ValueId first = b.op(IsMax ? "aten.gt" : "aten.lt", {in[0], in[1]});
  const ValueId second = b.op(IsMax ? "aten.lt" : "aten.gt", {in[0], in[1]});
  const auto share = [&](ValueId wins) {
    return b.op("aten.where", {tie, half, b.op("aten.where", {wins, g[0], zero})});
  };
  return std::vector{grad_of(b, share(first), in[0]), grad_of(b, share(second), in[1])};
}
Grads derive_atan2(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  const ValueId square =
      b.op("aten.add", {b.op("aten.mul", {in[0], in[0]}), b.op("aten.mul", {in[1], in[1]})});
  const ValueId unit = b.op("aten.div", {g[0], square});
  return std::vector{grad_of(b, b.op("aten.mul", {unit, in[1]}), in[0]),
                     grad_of(b, b.op("aten.neg", {b.op("aten.mul", {unit, in[0]})}), in[1])};
}
Grads derive_where(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  const ValueId zero = scalar_of(b, 0, g[0]);
  return std::vector{kNoValue, grad_of(b, b.op("aten.where", {in[0], g[0], zero}), in[1]),
                     grad_of(b, b.op("aten.where", {in[0], zero, g[0]}), in[2])};
}
Grads derive_nothing(GraphBuilder&, const Node&, Ids in, Ids, Ids) {
  return std::vector(in.size(), kNoValue);
}

}  // namespace

void add_binary_ops(std::vector<OpInfo>& table) {
  const auto add = [&](const char* name, InferFn infer, EvaluateFn evaluate, DerivativeFn derivative,
                       bool is_commutative) {
    table.push_back({.name = name,
                     .kind = OpKind::kPointwise,
                     .operands = {{"self"}, {"other"}},
                     .infer = infer,
                     .evaluate = evaluate,
                     .derivative = derivative,
                     .is_commutative = is_commutative});
  };
  constexpr auto kAdd = [](double a, double b) { return a + b; };
  constexpr auto kSub = [](double a, double b) { return a - b; };
  constexpr auto kMul = [](double a, double b) { return a * b; };
  constexpr auto kDiv = [](double a, double b) { return a / b; };
  constexpr auto kPow = [](double a, double b) { return std::pow(a, b); };
  constexpr auto kAtan2 = [](double a, double b) { return std::atan2(a, b); };
  constexpr auto kMax = [](int64_t a, int64_t b) { return std::max(a, b); };
  constexpr auto kMin = [](int64_t a, int64_t b) { return std::min(a, b); };
  add("aten.add", infer_arithmetic, evaluate_binary<kAdd, wrapping_add>, derive_add, true);
  add("aten.sub", infer_numeric, evaluate_binary<kSub, wrapping_sub>, derive_sub, false);
  add("aten.mul", infer_arithmetic, evaluate_binary<kMul, wrapping_mul>, derive_mul, true);
  add("aten.div", infer_float, evaluate_float<kDiv>, derive_div, false);
  add("aten.pow", infer_numeric, evaluate_binary<kPow, wrapping_pow>, derive_pow, false);
  add("aten.maximum", infer_arithmetic, evaluate_binary<max_or_nan, kMax>, derive_extremum<true>, true);
  add("aten.minimum", infer_arithmetic, evaluate_binary<min_or_nan, kMin>, derive_extremum<false>, true);
  add("aten.remainder", infer_numeric, evaluate_remainder, nullptr, false);
  add("aten.atan2", infer_float, evaluate_float<kAtan2>, derive_atan2, false);

  add("aten.eq", infer_bool, compare_evaluator<std::equal_to<>>(), derive_nothing, true);
  add("aten.ne", infer_bool, compare_evaluator<std::not_equal_to<>>(), derive_nothing, true);
  add("aten.lt", infer_bool, compare_evaluator<std::less<>>(), derive_nothing, false);
  add("aten.le", infer_bool, compare_evaluator<std::less_equal<>>(), derive_nothing, false);
  add("aten.gt", infer_bool, compare_evaluator<std::greater<>>(), derive_nothing, false);
  add("aten.ge", infer_bool, compare_evaluator<std::greater_equal<>>(), derive_nothing, false);

  constexpr auto kBoth = [](bool a, bool b) { return a && b; };
  constexpr auto kEither = [](bool a, bool b) { return a || b; };
  add("aten.logical_and", infer_bool, evaluate_logical<kBoth>, derive_nothing, true);
  add("aten.logical_or", infer_bool, evaluate_logical<kEither>, derive_nothing, true);
  add("aten.bitwise_and", infer_bitwise, integer_evaluator<std::bit_and<>>(), derive_nothing, true);
  add("aten.bitwise_or", infer_bitwise, integer_evaluator<std::bit_or<>>(), derive_nothing, true);
  add("aten.bitwise_xor", infer_bitwise, integer_evaluator<std::bit_xor<>>(), derive_nothing, true);

  table.push_back({.name = "aten.where",
                   .kind = OpKind::kPointwise,
                   .operands = {{"condition"}, {"self"}, {"other"}},
                   .infer = infer_where,
                   .evaluate = evaluate_where,
                   .derivative = derive_where});
}

}  // namespace edge_infer
