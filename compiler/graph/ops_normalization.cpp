// LayerNorm, RMSNorm, softmax: kept whole, each with a decomposition.
#include <algorithm>
#include <cmath>

#include "compiler/graph/evaluators.h"
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/print.h"

namespace edge_infer {
namespace {

using Ids = std::span<const ValueId>;
using Values = Result<std::vector<ValueId>>;
using Dims = std::vector<int64_t>;

Status expect_scale(const InferContext& c, size_t operand, const Sizes& sizes) {
  if (c.inputs[operand] == nullptr) return {};
  EDGE_INFER_RETURN_IF_ERROR(expect_same_dtype(c, 0, operand));
  if (c.inputs[operand]->sizes == sizes) return {};
  return fail(ErrorCode::kInvalidArgument, "{} is {}, expected sizes {}", c.op.operands[operand].name,
              print(*c.inputs[operand]), print(Attribute{sizes}));
}

Result<Types> infer_layer_norm(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_floating(c, 0));
  const Sizes& sizes = c.inputs[0]->sizes;
  const Sizes& shape = attribute_as<Sizes>(c.node, "normalized_shape");
  if (shape.empty() || shape.size() > sizes.size() ||
      !std::equal(shape.rbegin(), shape.rend(), sizes.rbegin()))
    return fail(ErrorCode::kInvalidArgument, "normalized_shape {} does not end the sizes of {}",
                print(Attribute{shape}), print(*c.inputs[0]));
  EDGE_INFER_RETURN_IF_ERROR(expect_scale(c, 1, shape));
  EDGE_INFER_RETURN_IF_ERROR(expect_scale(c, 2, shape));
  return infer_same(c);
}

Result<Types> infer_rms_norm(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_floating(c, 0));
  if (c.inputs[0]->rank() == 0) return fail(ErrorCode::kInvalidArgument, "self has no dimensions");
  EDGE_INFER_RETURN_IF_ERROR(expect_scale(c, 1, {c.inputs[0]->sizes.back()}));
  return infer_same(c);
}

Result<Types> infer_softmax(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_floating(c, 0));
  EDGE_INFER_RETURN_IF_ERROR(wrap_dim(attribute_as<int64_t>(c.node, "dim"), c.inputs[0]->rank()));
  return infer_same(c);
}

// Rows of n elements, each mapped by `row(values, out)`, then scaled and shifted where the operands exist.
template <typename Row>
Status evaluate_rows(const EvaluateContext& c, int64_t n, Row&& row) {
  const std::vector<double> x = c.in(0).to_doubles();
  const std::vector<double> scale = c.has(1) ? c.in(1).to_doubles() : std::vector<double>();
  const std::vector<double> shift = c.has(2) ? c.in(2).to_doubles() : std::vector<double>();
  std::vector<double> out(x.size());
  const auto width = static_cast<size_t>(n);
  for (size_t start = 0; width > 0 && start < x.size(); start += width) {
    row(std::span(x).subspan(start, width), std::span(out).subspan(start, width));
    for (size_t i = 0; i < width; ++i) {
      double& v = out[start + i];
      if (!scale.empty()) v *= scale[i];
      if (!shift.empty()) v += shift[i];
    }
  }
  c.out().store(out);
  return {};
}

Status evaluate_layer_norm(const EvaluateContext& c) {
  const double eps = attribute_as<double>(c.node, "eps");
  int64_t n = 1;
  const size_t rank = attribute_as<Sizes>(c.node, "normalized_shape").size();
  for (size_t i = 0; i < rank; ++i) n *= c.in(0).sizes[c.in(0).sizes.size() - 1 - i];
  return evaluate_rows(c, n, [eps](std::span<const double> x, std::span<double> out) {
    double mean = 0, variance = 0;
    for (const double v : x) mean += v;
    mean /= static_cast<double>(x.size());
    for (const double v : x) variance += (v - mean) * (v - mean);
    variance /= static_cast<double>(x.size());
    for (size_t i = 0; i < x.size(); ++i) out[i] = (x[i] - mean) / std::sqrt(variance + eps);
  });
}

Status evaluate_rms_norm(const EvaluateContext& c) {
  const double eps = attribute_as<double>(c.node, "eps");
  return evaluate_rows(c, c.in(0).sizes.back(), [eps](std::span<const double> x, std::span<double> out) {
    double square = 0;
    for (const double v : x) square += v * v;
    const double scale = 1 / std::sqrt(square / static_cast<double>(x.size()) + eps);
    for (size_t i = 0; i < x.size(); ++i) out[i] = x[i] * scale;
  });
}

template <bool IsLog>
Status evaluate_softmax(const EvaluateContext& c) {
  const auto rank = static_cast<int64_t>(c.in(0).sizes.size());
  EDGE_INFER_ASSIGN(const int64_t dim, wrap_dim(attribute_as<int64_t>(c.node, "dim"), rank));
  const DimView view = view_dim(c.in(0).sizes, rank == 0 ? -1 : dim);
  std::vector<double> values = c.in(0).to_doubles();
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t n = 0; n < view.inner; ++n) {
      const auto at = [&](int64_t i) -> double& { return values[static_cast<size_t>(view.index(o, i, n))]; };
      double largest = -HUGE_VAL, sum = 0;
      for (int64_t i = 0; i < view.length; ++i) largest = max_or_nan(largest, at(i));
      for (int64_t i = 0; i < view.length; ++i) sum += std::exp(at(i) - largest);
      for (int64_t i = 0; i < view.length; ++i)
        at(i) = IsLog ? at(i) - largest - std::log(sum) : std::exp(at(i) - largest) / sum;
    }
  c.out().store(values);
  return {};
}

// --- Decompositions and derivatives ---

ValueId times(GraphBuilder& b, ValueId x, ValueId y) {
  return b.op("aten.mul", {x, y});
}
ValueId minus(GraphBuilder& b, ValueId x, ValueId y) {
  return b.op("aten.sub", {x, y});
}
ValueId plus(GraphBuilder& b, ValueId x, double by) {
  return b.op("aten.add.Scalar", {x}, {{"scalar", by}});
}
ValueId reduced(GraphBuilder& b, const char* op, ValueId x, const Dims& dims) {
  return b.op(op, {x}, {{"dim", dims}, {"keepdim", true}});
}
ValueId scaled(GraphBuilder& b, ValueId x, ValueId scale) {
  return scale == kNoValue ? x : times(b, x, scale);
}

Dims normalized_dims(const Node& node) {
  Dims dims;
  for (int64_t i = -std::ssize(attribute_as<Sizes>(node, "normalized_shape")); i < 0; ++i) dims.push_back(i);
  return dims;
}

// (x - mean) and 1 / sqrt(variance + eps)
struct Standardized {
  ValueId centered, rstd;
};
Standardized standardize(GraphBuilder& b, const Node& node, ValueId x) {
  const Dims dims = normalized_dims(node);
  const ValueId centered = minus(b, x, reduced(b, "aten.mean", x, dims));
  const ValueId variance = reduced(b, "aten.mean", times(b, centered, centered), dims);
  return {centered, b.op("aten.rsqrt", {plus(b, variance, attribute_as<double>(node, "eps"))})};
}

Values decompose_layer_norm(GraphBuilder& b, const Node& node, Ids in) {
  const auto [centered, rstd] = standardize(b, node, in[0]);
  const ValueId y = scaled(b, times(b, centered, rstd), in[1]);
  return std::vector{in[2] == kNoValue ? y : b.op("aten.add", {y, in[2]})};
}
Values decompose_rms_norm(GraphBuilder& b, const Node& node, Ids in) {
  const ValueId square = reduced(b, "aten.mean", times(b, in[0], in[0]), {-1});
  const ValueId rms = b.op("aten.rsqrt", {plus(b, square, attribute_as<double>(node, "eps"))});
  return std::vector{scaled(b, times(b, in[0], rms), in[1])};
}
Values decompose_softmax(GraphBuilder& b, const Node& node, Ids in) {
  const Dims dim = {attribute_as<int64_t>(node, "dim")};
  const ValueId e = b.op("aten.exp", {minus(b, in[0], reduced(b, "aten.amax", in[0], dim))});
  return std::vector{b.op("aten.div", {e, reduced(b, "aten.sum", e, dim)})};
}
Values decompose_log_softmax(GraphBuilder& b, const Node& node, Ids in) {
  const Dims dim = {attribute_as<int64_t>(node, "dim")};
  const ValueId shifted = minus(b, in[0], reduced(b, "aten.amax", in[0], dim));
  return std::vector{
      minus(b, shifted, b.op("aten.log", {reduced(b, "aten.sum", b.op("aten.exp", {shifted}), dim)}))};
}

// With xh the standardized input and gy = g * scale: rstd * (gy - mean(gy) - xh * mean(gy * xh)).
Values derive_layer_norm(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  const Dims dims = normalized_dims(node);
  const auto [centered, rstd] = standardize(b, node, in[0]);
  const ValueId xh = times(b, centered, rstd), gy = scaled(b, g[0], in[1]);
  const ValueId along = times(b, xh, reduced(b, "aten.mean", times(b, gy, xh), dims));
  const ValueId of_x = times(b, rstd, minus(b, minus(b, gy, reduced(b, "aten.mean", gy, dims)), along));
  const ValueId of_scale = in[1] == kNoValue ? kNoValue : sum_to(b, times(b, g[0], xh), b.type(in[1]));
  return std::vector{of_x, of_scale, in[2] == kNoValue ? kNoValue : sum_to(b, g[0], b.type(in[2]))};
}
Values derive_rms_norm(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  const ValueId square = reduced(b, "aten.mean", times(b, in[0], in[0]), {-1});
  const ValueId rms = b.op("aten.rsqrt", {plus(b, square, attribute_as<double>(node, "eps"))});
  const ValueId xh = times(b, in[0], rms), gy = scaled(b, g[0], in[1]);
  const ValueId along = times(b, xh, reduced(b, "aten.mean", times(b, gy, xh), {-1}));
  return std::vector{times(b, rms, minus(b, gy, along)),
                     in[1] == kNoValue ? kNoValue : sum_to(b, times(b, g[0], xh), b.type(in[1]))};
}
Values derive_softmax(GraphBuilder& b, const Node& node, Ids, Ids out, Ids g) {
  const ValueId dot = reduced(b, "aten.sum", times(b, g[0], out[0]), {attribute_as<int64_t>(node, "dim")});
  return std::vector{times(b, out[0], minus(b, g[0], dot))};
}
Values derive_log_softmax(GraphBuilder& b, const Node& node, Ids, Ids out, Ids g) {
  const ValueId sum = reduced(b, "aten.sum", g[0], {attribute_as<int64_t>(node, "dim")});
  return std::vector{minus(b, g[0], times(b, b.op("aten.exp", {out[0]}), sum))};
}

}  // namespace

void add_normalization_ops(std::vector<OpInfo>& table) {
  using enum AttributeKind;
  const auto add = [&](const char* name, std::vector<OperandSchema> operands,
                       std::vector<AttributeSchema> attributes, InferFn infer, EvaluateFn evaluate,
                       DecomposeFn decompose, DerivativeFn derivative) {
    table.push_back({.name = name,
                     .kind = OpKind::kNormalization,
                     .operands = std::move(operands),
                     .attributes = std::move(attributes),
                     .infer = infer,
                     .evaluate = evaluate,
                     .decompose = decompose,
                     .derivative = derivative});
  };
  add("aten.layer_norm", {{"input"}, optional_operand("weight"), optional_operand("bias")},
      {required("normalized_shape", kSizes), with_default("eps", kFloat, 1e-5)}, infer_layer_norm,
      evaluate_layer_norm, decompose_layer_norm, derive_layer_norm);
  add("edge.rms_norm", {{"input"}, optional_operand("weight")}, {with_default("eps", kFloat, 1e-6)},
      infer_rms_norm, evaluate_rms_norm, decompose_rms_norm, derive_rms_norm);
  add("aten.softmax", {{"self"}}, {required("dim", kInt)}, infer_softmax, evaluate_softmax<false>,
      decompose_softmax, derive_softmax);
  add("aten.log_softmax", {{"self"}}, {required("dim", kInt)}, infer_softmax, evaluate_softmax<true>,
      decompose_log_softmax, derive_log_softmax);
}

}  // namespace edge_infer
