// Reductions over some or all dimensions, the running sum, and the position of an extremum.
#include <algorithm>
#include <cmath>

#include "compiler/graph/arithmetic.h"
#include "compiler/graph/evaluators.h"
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/ops.h"

namespace edge_infer {
namespace {

using Ids = std::span<const ValueId>;
using Values = Result<std::vector<ValueId>>;
using Dims = std::vector<int64_t>;

Result<TensorType> reduced(const InferContext& c) {
  EDGE_INFER_ASSIGN(const Dims dims, reduced_dims(attribute_as<Dims>(c.node, "dim"), c.inputs[0]->rank()));
  return TensorType{c.inputs[0]->dtype,
                    reduced_sizes(c.inputs[0]->sizes, dims, attribute_as<bool>(c.node, "keepdim"))};
}

// Sums and products of integers and bools are i64, as in ATen.
Result<Types> infer_sum(const InferContext& c) {
  EDGE_INFER_ASSIGN(TensorType type, reduced(c));
  if (!is_floating(type.dtype)) type.dtype = DType::kI64;
  return Types{std::move(type)};
}
Result<Types> infer_floating(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_floating(c, 0));
  EDGE_INFER_ASSIGN(TensorType type, reduced(c));
  return Types{std::move(type)};
}
Result<Types> infer_extremum(const InferContext& c) {
  EDGE_INFER_ASSIGN(TensorType type, reduced(c));
  return Types{std::move(type)};
}
Result<Types> infer_logical(const InferContext& c) {
  EDGE_INFER_ASSIGN(TensorType type, reduced(c));
  type.dtype = DType::kBool;
  return Types{std::move(type)};
}
Result<Types> infer_cumsum(const InferContext& c) {
  TensorType type = *c.inputs[0];
  EDGE_INFER_RETURN_IF_ERROR(wrap_dim(attribute_as<int64_t>(c.node, "dim"), type.rank()));
  if (!is_floating(type.dtype)) type.dtype = DType::kI64;
  return Types{std::move(type)};
}
Result<Types> infer_arg(const InferContext& c) {
  const TensorType& x = *c.inputs[0];
  Dims dims;
  if (const auto* dim = std::get_if<int64_t>(&attribute(c.node, "dim"))) dims.push_back(*dim);
  EDGE_INFER_ASSIGN(dims, reduced_dims(dims, x.rank()));
  return Types{{DType::kI64, reduced_sizes(x.sizes, dims, attribute_as<bool>(c.node, "keepdim"))}};
}

// For each element of the result, in order, the elements of the input that it reduces, in order.
std::vector<std::vector<size_t>> groups_of(const EvaluateContext& c) {
  const Dims& sizes = c.in(0).sizes;
  const auto dims =
      reduced_dims(attribute_as<Dims>(c.node, "dim"), static_cast<int64_t>(sizes.size())).value_or(Dims{});
  Dims kept = sizes;
  for (const int64_t dim : dims) kept[static_cast<size_t>(dim)] = 1;
  std::vector<std::vector<size_t>> groups(static_cast<size_t>(c.out().elements()));
  const auto index = broadcast_index(kept, sizes);
  for (size_t i = 0; i < index.size(); ++i) groups[index[i]].push_back(i);
  return groups;
}

template <typename T, typename F>
std::vector<T> fold(const EvaluateContext& c, const std::vector<T>& values, F&& f) {
  std::vector<T> result;
  std::vector<T> members;
  for (const auto& group : groups_of(c)) {
    members.clear();
    for (const size_t i : group) members.push_back(values[i]);
    result.push_back(f(members));
  }
  return result;
}
template <typename F>
Status reduce_doubles(const EvaluateContext& c, F&& f) {
  c.out().store(fold(c, c.in(0).to_doubles(), f));
  return {};
}

template <auto OfDoubles, auto OfIntegers, int Start>
Status evaluate_accumulate(const EvaluateContext& c) {
  if (is_floating(c.out().dtype))
    return reduce_doubles(c, [](const std::vector<double>& members) {
      double sum = Start;
      for (const double v : members) sum = OfDoubles(sum, v);
      return sum;
    });
  c.out().store(fold(c, c.in(0).to_integers(), [](const std::vector<int64_t>& members) {
    int64_t sum = Start;
    for (const int64_t v : members) sum = OfIntegers(sum, v);
    return sum;
  }));
  return {};
}

double sum_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return sum;
}
double mean_of(const std::vector<double>& v) {
  return sum_of(v) / static_cast<double>(v.size());
}

Status evaluate_mean(const EvaluateContext& c) {
  return reduce_doubles(c, mean_of);
}

template <bool IsMax>
Status evaluate_extremum(const EvaluateContext& c) {
  if (c.out().elements() > 0 && c.in(0).elements() == 0)
    return fail(ErrorCode::kInvalidArgument, "a maximum or minimum of no elements");
  if (is_floating(c.out().dtype))
    return reduce_doubles(c, [](const std::vector<double>& members) {
      double best = members[0];
      for (const double v : members) best = IsMax ? max_or_nan(best, v) : min_or_nan(best, v);
      return best;
    });
  c.out().store(fold(c, c.in(0).to_integers(), [](const std::vector<int64_t>& members) {
    return IsMax ? *std::max_element(members.begin(), members.end())
                 : *std::min_element(members.begin(), members.end());
  }));
  return {};
}

template <bool IsAny>
Status evaluate_logical(const EvaluateContext& c) {
  return reduce_doubles(c, [](const std::vector<double>& members) {
    const auto is_true = [](double v) { return v != 0; };
    return (IsAny ? std::any_of(members.begin(), members.end(), is_true)
                  : std::all_of(members.begin(), members.end(), is_true))
               ? 1.0
               : 0.0;
  });
}

// Two sweeps: the mean, then the squared distances.
Status evaluate_var(const EvaluateContext& c) {
  const double correction = attribute_as<double>(c.node, "correction");
  return reduce_doubles(c, [&](const std::vector<double>& members) {
    const double mean = mean_of(members);
    double sum = 0;
    for (const double v : members) sum += (v - mean) * (v - mean);
    return sum / std::max(0.0, static_cast<double>(members.size()) - correction);
  });
}

Status evaluate_norm(const EvaluateContext& c) {
  const double ord = attribute_as<double>(c.node, "ord");
  return reduce_doubles(c, [&](const std::vector<double>& members) {
    double sum = 0, largest = 0, smallest = HUGE_VAL;
    for (const double v : members) {
      const double a = std::fabs(v);
      sum += ord == 0 ? (a != 0 ? 1 : 0) : ord == 2 ? a * a : std::pow(a, ord);
      largest = max_or_nan(largest, a);
      smallest = min_or_nan(smallest, a);
    }
    if (std::isinf(ord)) return ord > 0 ? largest : smallest;
    return ord == 0 ? sum : ord == 2 ? std::sqrt(sum) : std::pow(sum, 1 / ord);
  });
}

Status evaluate_cumsum(const EvaluateContext& c) {
  const auto rank = static_cast<int64_t>(c.out().sizes.size());
  EDGE_INFER_ASSIGN(const int64_t dim, wrap_dim(attribute_as<int64_t>(c.node, "dim"), rank));
  const DimView view = view_dim(c.out().sizes, dim);
  const auto scan = [&](auto values, auto plus) {
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t i = 1; i < view.length; ++i)
        for (int64_t n = 0; n < view.inner; ++n) {
          auto& v = values[static_cast<size_t>(view.index(o, i, n))];
          v = plus(v, values[static_cast<size_t>(view.index(o, i - 1, n))]);
        }
    c.out().store(values);
  };
  if (is_floating(c.out().dtype)) {
    scan(c.in(0).to_doubles(), [](double a, double b) { return a + b; });
  } else {
    scan(c.in(0).to_integers(), wrapping_add);
  }
  return {};
}

// The lowest position wins; NaN is larger and smaller than anything, as in PyTorch.
template <bool IsMax>
Status evaluate_arg(const EvaluateContext& c) {
  if (c.in(0).elements() == 0 && c.out().elements() > 0)
    return fail(ErrorCode::kInvalidArgument, "the position of an extremum of no elements");
  DimView view{1, c.in(0).elements(), 1};
  const auto rank = static_cast<int64_t>(c.in(0).sizes.size());
  if (const auto* dim = std::get_if<int64_t>(&attribute(c.node, "dim")))
    view = view_dim(c.in(0).sizes, wrap_dim(*dim, rank).value_or(0));
  std::vector<int64_t> result;
  const auto search = [&](const auto& values) {
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t n = 0; n < view.inner; ++n) {
        int64_t best = 0;
        for (int64_t i = 1; i < view.length; ++i) {
          const auto a = values[static_cast<size_t>(view.index(o, i, n))];
          const auto b = values[static_cast<size_t>(view.index(o, best, n))];
          const bool is_better = b == b && (a != a || (IsMax ? a > b : a < b));
          if (is_better) best = i;
        }
        result.push_back(best);
      }
  };
  if (is_floating(c.in(0).dtype)) {
    search(c.in(0).to_doubles());
  } else {
    search(c.in(0).to_integers());
  }
  c.out().store(result);
  return {};
}

// --- Decompositions and derivatives ---

// Number of elements reduced into one, where it is constant.
Result<int64_t> reduced_count(GraphBuilder& b, const Node& node, ValueId x) {
  const TensorType& type = b.type(x);
  EDGE_INFER_ASSIGN(const Dims dims, reduced_dims(attribute_as<Dims>(node, "dim"), type.rank()));
  SymInt count = 1;
  for (const int64_t dim : dims) count = count * type.sizes[static_cast<size_t>(dim)];
  if (!count.constant())
    return fail(ErrorCode::kUnsupported, "{}: the number of elements {} is not constant", node.op->name,
                count.str());
  return *count.constant();
}
Attributes over(const Node& node, bool keepdim) {
  return {{"dim", attribute(node, "dim")}, {"keepdim", keepdim}};
}
ValueId scaled(GraphBuilder& b, ValueId x, double by) {
  return b.op("aten.mul.Scalar", {x}, {{"scalar", by}});
}

Values decompose_mean(GraphBuilder& b, const Node& node, Ids in) {
  EDGE_INFER_ASSIGN(const int64_t count, reduced_count(b, node, in[0]));
  const ValueId sum = b.op("aten.sum", {in[0]}, over(node, attribute_as<bool>(node, "keepdim")));
  return std::vector{b.op("aten.div.Scalar", {sum}, {{"scalar", static_cast<double>(count)}})};
}
Values decompose_var(GraphBuilder& b, const Node& node, Ids in) {
  EDGE_INFER_ASSIGN(const int64_t count, reduced_count(b, node, in[0]));
  const double divisor = std::max(0.0, static_cast<double>(count) - attribute_as<double>(node, "correction"));
  const ValueId centered = b.op("aten.sub", {in[0], b.op("aten.mean", {in[0]}, over(node, true))});
  const ValueId square = b.op("aten.mul", {centered, centered});
  const ValueId sum = b.op("aten.sum", {square}, over(node, attribute_as<bool>(node, "keepdim")));
  return std::vector{b.op("aten.div.Scalar", {sum}, {{"scalar", divisor}})};
}
Values decompose_norm(GraphBuilder& b, const Node& node, Ids in) {
  const double ord = attribute_as<double>(node, "ord");
  const bool keepdim = attribute_as<bool>(node, "keepdim");
  if (std::isinf(ord)) {
    const ValueId magnitude = b.op("aten.abs", {in[0]});
    return std::vector{b.op(ord > 0 ? "aten.amax" : "aten.amin", {magnitude}, over(node, keepdim))};
  }
  if (ord == 1) return std::vector{b.op("aten.sum", {b.op("aten.abs", {in[0]})}, over(node, keepdim))};
  if (ord != 2) return fail(ErrorCode::kUnsupported, "{}: only the orders 1, 2 and infinity", node.op->name);
  const ValueId square = b.op("aten.mul", {in[0], in[0]});
  return std::vector{b.op("aten.sqrt", {b.op("aten.sum", {square}, over(node, keepdim))})};
}

// A result's gradient (or the result) with the reduced dimensions back as 1.
Result<ValueId> kept(GraphBuilder& b, const Node& node, ValueId x, ValueId reduced_value) {
  const TensorType& type = b.type(x);
  EDGE_INFER_ASSIGN(const Dims dims, reduced_dims(attribute_as<Dims>(node, "dim"), type.rank()));
  const Sizes sizes = reduced_sizes(type.sizes, dims, true);
  return b.op("aten.view", {reduced_value}, {{"size", sizes}});
}
Values derive_sum(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  if (!is_floating(b.type(in[0]).dtype)) return std::vector{kNoValue};
  EDGE_INFER_ASSIGN(const ValueId grad, kept(b, node, in[0], g[0]));
  return std::vector{b.op("aten.expand", {grad}, {{"size", b.type(in[0]).sizes}})};
}
Values derive_mean(GraphBuilder& b, const Node& node, Ids in, Ids out, Ids g) {
  EDGE_INFER_ASSIGN(const int64_t count, reduced_count(b, node, in[0]));
  EDGE_INFER_ASSIGN(const auto grads, derive_sum(b, node, in, out, g));
  return std::vector{scaled(b, grads[0], 1.0 / static_cast<double>(count))};
}
Values derive_var(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  EDGE_INFER_ASSIGN(const int64_t count, reduced_count(b, node, in[0]));
  const double divisor = static_cast<double>(count) - attribute_as<double>(node, "correction");
  EDGE_INFER_ASSIGN(const ValueId grad, kept(b, node, in[0], g[0]));
  const ValueId centered = b.op("aten.sub", {in[0], b.op("aten.mean", {in[0]}, over(node, true))});
  return std::vector{b.op("aten.mul", {grad, scaled(b, centered, 2 / divisor)})};
}
// Equal extrema share the gradient, as in PyTorch.
Values derive_extremum(GraphBuilder& b, const Node& node, Ids in, Ids out, Ids g) {
  const DType dtype = b.type(in[0]).dtype;
  if (!is_floating(dtype)) return std::vector{kNoValue};
  EDGE_INFER_ASSIGN(const ValueId best, kept(b, node, in[0], out[0]));
  EDGE_INFER_ASSIGN(const ValueId grad, kept(b, node, in[0], g[0]));
  const ValueId hits = b.op("aten._to_copy", {b.op("aten.eq", {in[0], best})}, {{"dtype", dtype}});
  const ValueId count = b.op("aten.sum", {hits}, over(node, true));
  return std::vector{b.op("aten.mul", {hits, b.op("aten.div", {grad, count})})};
}
Values derive_norm(GraphBuilder& b, const Node& node, Ids in, Ids out, Ids g) {
  if (attribute_as<double>(node, "ord") != 2)
    return fail(ErrorCode::kUnsupported, "{}: the derivative is known for order 2 only", node.op->name);
  EDGE_INFER_ASSIGN(const ValueId norm, kept(b, node, in[0], out[0]));
  EDGE_INFER_ASSIGN(const ValueId grad, kept(b, node, in[0], g[0]));
  return std::vector{b.op("aten.mul", {in[0], b.op("aten.div", {grad, norm})})};
}
Values derive_nothing(GraphBuilder&, const Node&, Ids, Ids, Ids) {
  return std::vector{kNoValue};
}

}  // namespace

void add_reduction_ops(std::vector<OpInfo>& table) {
  using enum AttributeKind;
  const auto add = [&](const char* name, std::vector<AttributeSchema> extra, InferFn infer,
                       EvaluateFn evaluate, DecomposeFn decompose, DerivativeFn derivative) {
    std::vector<AttributeSchema> attributes = std::move(extra);
    attributes.push_back(with_default("dim", kInts, Dims{}));
    attributes.push_back(with_default("keepdim", kBool, false));
    table.push_back({.name = name,
                     .kind = OpKind::kReduction,
                     .operands = {{"self"}},
                     .attributes = std::move(attributes),
                     .infer = infer,
                     .evaluate = evaluate,
                     .decompose = decompose,
                     .derivative = derivative});
  };
  constexpr auto kPlus = [](double a, double b) { return a + b; };
  constexpr auto kTimes = [](double a, double b) { return a * b; };
  add("aten.sum", {}, infer_sum, evaluate_accumulate<kPlus, wrapping_add, 0>, nullptr, derive_sum);
  add("aten.prod", {}, infer_sum, evaluate_accumulate<kTimes, wrapping_mul, 1>, nullptr, nullptr);
  add("aten.mean", {}, infer_floating, evaluate_mean, decompose_mean, derive_mean);
  add("aten.amax", {}, infer_extremum, evaluate_extremum<true>, nullptr, derive_extremum);
  add("aten.amin", {}, infer_extremum, evaluate_extremum<false>, nullptr, derive_extremum);
  add("aten.any", {}, infer_logical, evaluate_logical<true>, nullptr, derive_nothing);
  add("aten.all", {}, infer_logical, evaluate_logical<false>, nullptr, derive_nothing);
  add("aten.var", {with_default("correction", kFloat, 1.0)}, infer_floating, evaluate_var, decompose_var,
      derive_var);
  add("aten.linalg_vector_norm", {with_default("ord", kFloat, 2.0)}, infer_floating, evaluate_norm,
      decompose_norm, derive_norm);

  table.push_back({.name = "aten.cumsum",
                   .kind = OpKind::kReduction,
                   .operands = {{"self"}},
                   .attributes = {required("dim", kInt)},
                   .infer = infer_cumsum,
                   .evaluate = evaluate_cumsum});
  const auto add_arg = [&](const char* name, EvaluateFn evaluate) {
    table.push_back({.name = name,
                     .kind = OpKind::kReduction,
                     .operands = {{"self"}},
                     .attributes = {or_none("dim", kInt), with_default("keepdim", kBool, false)},
                     .infer = infer_arg,
                     .evaluate = evaluate,
                     .derivative = derive_nothing});
  };
  add_arg("aten.argmax", evaluate_arg<true>);
  add_arg("aten.argmin", evaluate_arg<false>);
}

}  // namespace edge_infer
