// Pointwise ops of a tensor and a number. The number takes part in promotion as in ATen: a float with an
// integer tensor gives f32, and never widens a floating tensor.
#include <algorithm>
#include <cmath>
#include <functional>

#include "compiler/graph/arithmetic.h"
#include "compiler/graph/evaluators.h"
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/ops.h"

namespace edge_infer {
namespace {

using Doubles = std::span<const double>;
using Integers = std::span<const int64_t>;

double scalar_double(const Attribute& a) {
  if (const auto* value = std::get_if<double>(&a)) return *value;
  if (const auto* value = std::get_if<bool>(&a)) return *value ? 1 : 0;
  return static_cast<double>(std::get<int64_t>(a));
}
int64_t scalar_integer(const Attribute& a) {
  if (const auto* value = std::get_if<bool>(&a)) return *value ? 1 : 0;
  return std::get<int64_t>(a);
}

DType promoted(const InferContext& c, const Attribute& scalar) {
  const PromotionOperand operands[] = {promotion_operand(c.inputs[0]->dtype, c.inputs[0]->rank()),
                                       promotion_operand(scalar)};
  return promote(operands);
}

enum class ResultRule { kPromoted, kNumeric, kFloat, kBool };

template <ResultRule Rule>
Result<Types> infer_scalar(const InferContext& c) {
  TensorType type = *c.inputs[0];
  type.dtype = promoted(c, attribute(c.node, "scalar"));
  if (Rule == ResultRule::kNumeric && type.dtype == DType::kBool)
    return fail(ErrorCode::kInvalidArgument, "the operands promote to bool, expected numbers");
  if (Rule == ResultRule::kFloat && !is_floating(type.dtype)) type.dtype = DType::kF32;
  if (Rule == ResultRule::kBool) type.dtype = DType::kBool;
  return Types{std::move(type)};
}

// Arithmetic holds the number in at least f32; comparisons see it in the tensor's own type.
DType scalar_precision(DType compute, bool is_comparison) {
  return !is_comparison && dtype_size(compute) < 4 ? DType::kF32 : compute;
}

template <auto OfDoubles, auto OfIntegers, bool IsComparison = false>
Status evaluate_scalar(const EvaluateContext& c) {
  const Attribute& scalar = attribute(c.node, "scalar");
  const DType compute = promoted_dtype(c.inputs, &scalar);
  if (is_floating(compute)) {
    const double s = round_to(scalar_precision(compute, IsComparison), scalar_double(scalar));
    map_doubles(c, compute, [s](Doubles v) { return static_cast<double>(OfDoubles(v[0], s)); });
  } else {
    const int64_t s = scalar_integer(scalar);
    map_integers(c, [s](Integers v) { return static_cast<int64_t>(OfIntegers(v[0], s)); });
  }
  return {};
}

Status evaluate_div(const EvaluateContext& c) {
  const double s =
      round_to(scalar_precision(c.out().dtype, false), scalar_double(attribute(c.node, "scalar")));
  map_doubles(c, c.out().dtype, [s](Doubles v) { return v[0] / s; });
  return {};
}

template <typename Compare>
constexpr EvaluateFn compare_evaluator() {
  return evaluate_scalar<[](double a, double b) { return Compare{}(a, b); },
                         [](int64_t a, int64_t b) { return Compare{}(a, b); }, true>;
}

Result<Types> infer_clamp(const InferContext& c) {
  TensorType type = *c.inputs[0];
  for (const AttributeSchema& schema : c.op.attributes) {
    const Attribute& bound = attribute(c.node, schema.name);
    if (std::holds_alternative<std::monostate>(bound)) continue;
    const PromotionOperand operands[] = {promotion_operand(type.dtype, type.rank()),
                                         promotion_operand(bound)};
    type.dtype = promote(operands);
  }
  if (c.node.attributes.empty()) return fail(ErrorCode::kInvalidArgument, "neither min nor max is given");
  if (type.dtype == DType::kBool) return fail(ErrorCode::kInvalidArgument, "self is bool, expected numbers");
  return Types{std::move(type)};
}

// Lower bound first, so that the upper one wins where they cross; NaN stays.
Status evaluate_clamp(const EvaluateContext& c) {
  const Attribute *lo = nullptr, *hi = nullptr;
  for (const auto& [name, value] : c.node.attributes) (name == "min" ? lo : hi) = &value;
  if (is_floating(c.out().dtype)) {
    map_doubles(c, c.out().dtype, [&](Doubles v) {
      double x = v[0];
      if (lo != nullptr) x = max_or_nan(x, scalar_double(*lo));
      if (hi != nullptr) x = min_or_nan(x, scalar_double(*hi));
      return x;
    });
  } else {
    map_integers(c, [&](Integers v) {
      int64_t x = v[0];
      if (lo != nullptr) x = std::max(x, scalar_integer(*lo));
      if (hi != nullptr) x = std::min(x, scalar_integer(*hi));
      return x;
    });
  }
  return {};
}

using Ids = std::span<const ValueId>;
using Grads = Result<std::vector<ValueId>>;

Grads one_grad(GraphBuilder& b, ValueId grad, ValueId input) {
  return std::vector{is_floating(b.type(input).dtype) ? sum_to(b, grad, b.type(input)) : kNoValue};
}
Grads derive_add(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  return one_grad(b, g[0], in[0]);
}
Grads derive_mul(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  return one_grad(b, b.op("aten.mul.Scalar", {g[0]}, {{"scalar", attribute(node, "scalar")}}), in[0]);
}
Grads derive_div(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  return one_grad(b, b.op("aten.div.Scalar", {g[0]}, {{"scalar", attribute(node, "scalar")}}), in[0]);
}
Grads derive_pow(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  const double exponent = scalar_double(attribute(node, "scalar"));
  if (exponent == 0) return one_grad(b, b.op("aten.mul.Scalar", {g[0]}, {{"scalar", 0.0}}), in[0]);
  const ValueId lower = b.op("aten.pow.Scalar", {in[0]}, {{"scalar", exponent - 1}});
  return one_grad(b, b.op("aten.mul", {g[0], b.op("aten.mul.Scalar", {lower}, {{"scalar", exponent}})}),
                  in[0]);
}
Grads derive_nothing(GraphBuilder&, const Node&, Ids, Ids, Ids) {
  return std::vector{kNoValue};
}

// The gradient passes where no bound replaced the value; at a bound it passes, as in PyTorch.
Grads derive_clamp(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  ValueId grad = g[0];
  const ValueId zero =
      b.op("aten.full", {}, {{"size", Sizes{}}, {"fill_value", 0.0}, {"dtype", b.type(grad).dtype}});
  for (const auto& [name, bound] : node.attributes) {
    const ValueId inside =
        b.op(name == "min" ? "aten.ge.Scalar" : "aten.le.Scalar", {in[0]}, {{"scalar", bound}});
    grad = b.op("aten.where", {inside, grad, zero});
  }
  return one_grad(b, grad, in[0]);
}

Result<std::vector<ValueId>> decompose_to_clamp(GraphBuilder& b, const Node& node, Ids in) {
  return std::vector{b.op("aten.clamp", {in[0]}, node.attributes)};
}

}  // namespace

void add_scalar_ops(std::vector<OpInfo>& table) {
  const auto add = [&](const char* name, InferFn infer, EvaluateFn evaluate, DerivativeFn derivative) {
    table.push_back({.name = name,
                     .kind = OpKind::kPointwise,
                     .operands = {{"self"}},
                     .attributes = {required("scalar", AttributeKind::kScalar)},
                     .infer = infer,
                     .evaluate = evaluate,
                     .derivative = derivative});
  };
  constexpr auto kAdd = [](double a, double b) { return a + b; };
  constexpr auto kSub = [](double a, double b) { return a - b; };
  constexpr auto kMul = [](double a, double b) { return a * b; };
  constexpr auto kPow = [](double a, double b) { return std::pow(a, b); };
  using enum ResultRule;
  add("aten.add.Scalar", infer_scalar<kPromoted>, evaluate_scalar<kAdd, wrapping_add>, derive_add);
  add("aten.sub.Scalar", infer_scalar<kNumeric>, evaluate_scalar<kSub, wrapping_sub>, derive_add);
  add("aten.mul.Scalar", infer_scalar<kPromoted>, evaluate_scalar<kMul, wrapping_mul>, derive_mul);
  add("aten.div.Scalar", infer_scalar<kFloat>, evaluate_div, derive_div);
  add("aten.pow.Scalar", infer_scalar<kNumeric>, evaluate_scalar<kPow, wrapping_pow>, derive_pow);
  add("aten.eq.Scalar", infer_scalar<kBool>, compare_evaluator<std::equal_to<>>(), derive_nothing);
  add("aten.ne.Scalar", infer_scalar<kBool>, compare_evaluator<std::not_equal_to<>>(), derive_nothing);
  add("aten.lt.Scalar", infer_scalar<kBool>, compare_evaluator<std::less<>>(), derive_nothing);
  add("aten.le.Scalar", infer_scalar<kBool>, compare_evaluator<std::less_equal<>>(), derive_nothing);
  add("aten.gt.Scalar", infer_scalar<kBool>, compare_evaluator<std::greater<>>(), derive_nothing);
  add("aten.ge.Scalar", infer_scalar<kBool>, compare_evaluator<std::greater_equal<>>(), derive_nothing);

  const auto add_clamp = [&](const char* name, std::vector<AttributeSchema> bounds, DecomposeFn decompose) {
    table.push_back({.name = name,
                     .kind = OpKind::kPointwise,
                     .operands = {{"self"}},
                     .attributes = std::move(bounds),
                     .infer = infer_clamp,
                     .evaluate = evaluate_clamp,
                     .decompose = decompose,
                     .derivative = derive_clamp});
  };
  add_clamp("aten.clamp", {or_none("min", AttributeKind::kScalar), or_none("max", AttributeKind::kScalar)},
            nullptr);
  add_clamp("aten.clamp_min", {required("min", AttributeKind::kScalar)}, decompose_to_clamp);
  add_clamp("aten.clamp_max", {required("max", AttributeKind::kScalar)}, decompose_to_clamp);
}

}  // namespace edge_infer
