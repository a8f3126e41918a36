// Pointwise ops of one tensor.
#include <cmath>
#include <cstdlib>

#include "compiler/graph/arithmetic.h"
#include "compiler/graph/evaluators.h"
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/ops.h"

namespace edge_infer {
namespace {

using Doubles = std::span<const double>;
using Integers = std::span<const int64_t>;

// Integers and bools are computed as f32, as in ATen.
Result<Types> infer_float(const InferContext& c) {
  TensorType type = *c.inputs[0];
  if (!is_floating(type.dtype)) type.dtype = DType::kF32;
  return Types{std::move(type)};
}
Result<Types> infer_numeric(const InferContext& c) {
  if (c.inputs[0]->dtype == DType::kBool)
    return fail(ErrorCode::kInvalidArgument, "self is bool, expected numbers");
  return infer_same(c);
}
Result<Types> infer_bool(const InferContext& c) {
  return Types{{DType::kBool, c.inputs[0]->sizes}};
}

template <auto F>
Status evaluate_float(const EvaluateContext& c) {
  map_doubles(c, c.out().dtype, [](Doubles v) { return F(v[0]); });
  return {};
}
template <auto OfDouble, auto OfInteger>
Status evaluate_numeric(const EvaluateContext& c) {
  if (is_floating(c.out().dtype)) {
    map_doubles(c, c.out().dtype, [](Doubles v) { return OfDouble(v[0]); });
  } else {
    map_integers(c, [](Integers v) { return OfInteger(v[0]); });
  }
  return {};
}
template <auto F>
Status evaluate_predicate(const EvaluateContext& c) {
  map_doubles(c, DType::kF64, [](Doubles v) { return F(v[0]) ? 1.0 : 0.0; });
  return {};
}

using Ids = std::span<const ValueId>;
using Grads = Result<std::vector<ValueId>>;

ValueId scaled(GraphBuilder& b, ValueId x, double by) {
  return b.op("aten.mul.Scalar", {x}, {{"scalar", by}});
}
ValueId plus(GraphBuilder& b, ValueId x, double by) {
  return b.op("aten.add.Scalar", {x}, {{"scalar", by}});
}
ValueId times(GraphBuilder& b, ValueId x, ValueId y) {
  return b.op("aten.mul", {x, y});
}
ValueId square(GraphBuilder& b, ValueId x) {
  return times(b, x, x);
}

// The chain rule around `slope(b, input, output)`.
template <auto Slope>
Grads chain(GraphBuilder& b, const Node&, Ids in, Ids out, Ids g) {
  if (!is_floating(b.type(in[0]).dtype)) return std::vector{kNoValue};
  return std::vector{times(b, g[0], Slope(b, in[0], out[0]))};
}
Grads derive_neg(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  return std::vector{is_floating(b.type(in[0]).dtype) ? b.op("aten.neg", {g[0]}) : kNoValue};
}
// Steps: the slope is 0 wherever it exists.
Grads derive_flat(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  return std::vector{is_floating(b.type(in[0]).dtype) ? scaled(b, g[0], 0) : kNoValue};
}
Grads derive_nothing(GraphBuilder&, const Node&, Ids, Ids, Ids) {
  return std::vector{kNoValue};
}

constexpr auto kSign = [](auto x) { return static_cast<decltype(x)>(x > 0 ? 1 : x < 0 ? -1 : 0); };
constexpr double kTwoOverSqrtPi = 1.1283791670955126, kLn2 = 0.6931471805599453;

}  // namespace

void add_unary_ops(std::vector<OpInfo>& table) {
  const auto add = [&](const char* name, InferFn infer, EvaluateFn evaluate, DerivativeFn derivative) {
    table.push_back({.name = name,
                     .kind = OpKind::kPointwise,
                     .operands = {{"self"}},
                     .infer = infer,
                     .evaluate = evaluate,
                     .derivative = derivative});
  };
  using B = GraphBuilder;
  using V = ValueId;
  constexpr auto kSame = [](int64_t x) { return x; };
  constexpr auto kNegate = [](int64_t x) { return wrapping_sub(0, x); };
  constexpr auto kMagnitude = [](int64_t x) { return x < 0 ? wrapping_sub(0, x) : x; };

  add("aten.neg", infer_numeric, evaluate_numeric<[](double x) { return -x; }, kNegate>, derive_neg);
  add("aten.abs", infer_numeric, evaluate_numeric<[](double x) { return std::fabs(x); }, kMagnitude>,
      chain<[](B& b, V x, V) { return b.op("aten.sign", {x}); }>);
  add("aten.sign", infer_same, evaluate_numeric<kSign, kSign>, derive_flat);
  add("aten.sqrt", infer_float, evaluate_float<[](double x) { return std::sqrt(x); }>,
      chain<[](B& b, V, V y) { return scaled(b, b.op("aten.reciprocal", {y}), 0.5); }>);
  add("aten.rsqrt", infer_float, evaluate_float<[](double x) { return 1 / std::sqrt(x); }>,
      chain<[](B& b, V, V y) { return scaled(b, times(b, y, square(b, y)), -0.5); }>);
  add("aten.reciprocal", infer_float, evaluate_float<[](double x) { return 1 / x; }>,
      chain<[](B& b, V, V y) { return b.op("aten.neg", {square(b, y)}); }>);
  add("aten.exp", infer_float, evaluate_float<[](double x) { return std::exp(x); }>,
      chain<[](B&, V, V y) { return y; }>);
  add("aten.exp2", infer_float, evaluate_float<[](double x) { return std::exp2(x); }>,
      chain<[](B& b, V, V y) { return scaled(b, y, kLn2); }>);
  add("aten.log", infer_float, evaluate_float<[](double x) { return std::log(x); }>,
      chain<[](B& b, V x, V) { return b.op("aten.reciprocal", {x}); }>);
  add("aten.log1p", infer_float, evaluate_float<[](double x) { return std::log1p(x); }>,
      chain<[](B& b, V x, V) { return b.op("aten.reciprocal", {plus(b, x, 1)}); }>);
  add("aten.tanh", infer_float, evaluate_float<[](double x) { return std::tanh(x); }>,
      chain<[](B& b, V, V y) { return plus(b, b.op("aten.neg", {square(b, y)}), 1); }>);
  add("aten.erf", infer_float, evaluate_float<[](double x) { return std::erf(x); }>, chain<[](B& b, V x, V) {
        return scaled(b, b.op("aten.exp", {b.op("aten.neg", {square(b, x)})}), kTwoOverSqrtPi);
      }>);
  add("aten.sin", infer_float, evaluate_float<[](double x) { return std::sin(x); }>,
      chain<[](B& b, V x, V) { return b.op("aten.cos", {x}); }>);
  add("aten.cos", infer_float, evaluate_float<[](double x) { return std::cos(x); }>,
      chain<[](B& b, V x, V) { return b.op("aten.neg", {b.op("aten.sin", {x})}); }>);
  add("aten.floor", infer_numeric, evaluate_numeric<[](double x) { return std::floor(x); }, kSame>,
      derive_flat);
  add("aten.ceil", infer_numeric, evaluate_numeric<[](double x) { return std::ceil(x); }, kSame>,
      derive_flat);
  add("aten.round", infer_numeric, evaluate_numeric<[](double x) { return std::nearbyint(x); }, kSame>,
      derive_flat);
  add("aten.isnan", infer_bool, evaluate_predicate<[](double x) { return std::isnan(x); }>, derive_nothing);
  add("aten.logical_not", infer_bool, evaluate_predicate<[](double x) { return x == 0; }>, derive_nothing);
}

}  // namespace edge_infer
