// Activation functions, kept whole for fusion; each has a decomposition into plain arithmetic.
#include <algorithm>
#include <cmath>

#include "compiler/graph/evaluators.h"
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/ops.h"

namespace edge_infer {
namespace {

using Doubles = std::span<const double>;
using Ids = std::span<const ValueId>;
using Values = Result<std::vector<ValueId>>;

constexpr double kSqrtHalf = 0.7071067811865476, kSqrtTwoOverPi = 0.7978845608028654, kCubic = 0.044715;
constexpr double kInverseSqrtTwoPi = 0.3989422804014327;

Result<Types> infer_sigmoid(const InferContext& c) {
  TensorType type = *c.inputs[0];
  if (!is_floating(type.dtype)) type.dtype = DType::kF32;
  return Types{std::move(type)};
}
Result<Types> infer_floating(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_floating(c, 0));
  return infer_same(c);
}
Result<Types> infer_relu(const InferContext& c) {
  if (c.inputs[0]->dtype == DType::kBool)
    return fail(ErrorCode::kInvalidArgument, "self is bool, expected numbers");
  return infer_same(c);
}

bool is_tanh_form(const Node& node) {
  return attribute_as<std::string>(node, "approximate") == "tanh";
}

double sigmoid_of(double x) {
  return 1 / (1 + std::exp(-x));
}

Status evaluate_sigmoid(const EvaluateContext& c) {
  map_doubles(c, c.out().dtype, [](Doubles v) { return sigmoid_of(v[0]); });
  return {};
}
Status evaluate_relu(const EvaluateContext& c) {
  if (is_floating(c.out().dtype)) {
    map_doubles(c, c.out().dtype, [](Doubles v) { return max_or_nan(v[0], 0); });
  } else {
    map_integers(c, [](std::span<const int64_t> v) { return std::max<int64_t>(v[0], 0); });
  }
  return {};
}
Status evaluate_silu(const EvaluateContext& c) {
  map_doubles(c, c.out().dtype, [](Doubles v) { return v[0] / (1 + std::exp(-v[0])); });
  return {};
}
Status evaluate_gelu(const EvaluateContext& c) {
  if (is_tanh_form(c.node)) {
    map_doubles(c, c.out().dtype, [](Doubles v) {
      const double x = v[0];
      return 0.5 * x * (1 + std::tanh(kSqrtTwoOverPi * (x + kCubic * x * x * x)));
    });
  } else {
    // erfc keeps its digits where 1 + erf would cancel.
    map_doubles(c, c.out().dtype, [](Doubles v) { return 0.5 * v[0] * std::erfc(-v[0] * kSqrtHalf); });
  }
  return {};
}

ValueId scaled(GraphBuilder& b, ValueId x, double by) {
  return b.op("aten.mul.Scalar", {x}, {{"scalar", by}});
}
ValueId plus(GraphBuilder& b, ValueId x, double by) {
  return b.op("aten.add.Scalar", {x}, {{"scalar", by}});
}
ValueId times(GraphBuilder& b, ValueId x, ValueId y) {
  return b.op("aten.mul", {x, y});
}

Values decompose_sigmoid(GraphBuilder& b, const Node&, Ids in) {
  return std::vector{b.op("aten.reciprocal", {plus(b, b.op("aten.exp", {b.op("aten.neg", {in[0]})}), 1)})};
}
Values decompose_relu(GraphBuilder& b, const Node&, Ids in) {
  if (is_floating(b.type(in[0]).dtype)) return std::vector{b.op("aten.clamp", {in[0]}, {{"min", 0.0}})};
  return std::vector{b.op("aten.clamp", {in[0]}, {{"min", int64_t{0}}})};
}
Values decompose_silu(GraphBuilder& b, const Node&, Ids in) {
  return std::vector{times(b, in[0], b.op("aten.sigmoid", {in[0]}))};
}

// The argument of tanh in the tanh form.
ValueId tanh_argument(GraphBuilder& b, ValueId x) {
  const ValueId cube = times(b, x, times(b, x, x));
  return scaled(b, b.op("aten.add", {x, scaled(b, cube, kCubic)}), kSqrtTwoOverPi);
}
// 1 + erf or 1 + tanh: twice the share of x that passes.
ValueId doubled_share(GraphBuilder& b, const Node& node, ValueId x) {
  if (is_tanh_form(node)) return plus(b, b.op("aten.tanh", {tanh_argument(b, x)}), 1);
  return plus(b, b.op("aten.erf", {scaled(b, x, kSqrtHalf)}), 1);
}
Values decompose_gelu(GraphBuilder& b, const Node& node, Ids in) {
  const ValueId half = scaled(b, in[0], 0.5);
  return std::vector{times(b, half, doubled_share(b, node, in[0]))};
}

Values derive_sigmoid(GraphBuilder& b, const Node&, Ids in, Ids out, Ids g) {
  if (!is_floating(b.type(in[0]).dtype)) return std::vector{kNoValue};
  return std::vector{times(b, g[0], times(b, out[0], plus(b, b.op("aten.neg", {out[0]}), 1)))};
}
Values derive_relu(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  if (!is_floating(b.type(in[0]).dtype)) return std::vector{kNoValue};
  const ValueId zero =
      b.op("aten.full", {}, {{"size", Sizes{}}, {"fill_value", 0.0}, {"dtype", b.type(g[0]).dtype}});
  return std::vector{b.op("aten.where", {b.op("aten.gt.Scalar", {in[0]}, {{"scalar", 0.0}}), g[0], zero})};
}
Values derive_silu(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  const ValueId s = b.op("aten.sigmoid", {in[0]});
  const ValueId rest = times(b, in[0], plus(b, b.op("aten.neg", {s}), 1));
  return std::vector{times(b, g[0], times(b, s, plus(b, rest, 1)))};
}
Values derive_gelu(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  const ValueId x = in[0], share = scaled(b, doubled_share(b, node, x), 0.5);
  ValueId slope = kNoValue;  // of the share
  if (is_tanh_form(node)) {
    const ValueId t = b.op("aten.tanh", {tanh_argument(b, x)});
    const ValueId outer = scaled(b, plus(b, b.op("aten.neg", {times(b, t, t)}), 1), 0.5);
    const ValueId inner = plus(b, scaled(b, times(b, x, x), 3 * kCubic * kSqrtTwoOverPi), kSqrtTwoOverPi);
    slope = times(b, outer, inner);
  } else {
    slope = scaled(b, b.op("aten.exp", {scaled(b, times(b, x, x), -0.5)}), kInverseSqrtTwoPi);
  }
  return std::vector{times(b, g[0], b.op("aten.add", {share, times(b, x, slope)}))};
}

}  // namespace

void add_activation_ops(std::vector<OpInfo>& table) {
  const auto add = [&](const char* name, InferFn infer, EvaluateFn evaluate, DecomposeFn decompose,
                       DerivativeFn derivative, std::vector<AttributeSchema> attributes) {
    table.push_back({.name = name,
                     .kind = OpKind::kPointwise,
                     .operands = {{"self"}},
                     .attributes = std::move(attributes),
                     .infer = infer,
                     .evaluate = evaluate,
                     .decompose = decompose,
                     .derivative = derivative});
  };
  add("aten.sigmoid", infer_sigmoid, evaluate_sigmoid, decompose_sigmoid, derive_sigmoid, {});
  add("aten.relu", infer_relu, evaluate_relu, decompose_relu, derive_relu, {});
  add("aten.silu", infer_floating, evaluate_silu, decompose_silu, derive_silu, {});
  AttributeSchema approximate = with_default("approximate", AttributeKind::kString, std::string("none"));
  approximate.choices = {"none", "tanh"};
  add("aten.gelu", infer_floating, evaluate_gelu, decompose_gelu, derive_gelu, {approximate});
}

}  // namespace edge_infer
