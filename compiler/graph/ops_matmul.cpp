// Matrix products. `aten.linear` stays whole for packed weights; all of them decompose into `aten.matmul`.
#include <algorithm>

#include "compiler/graph/arithmetic.h"
#include "compiler/graph/evaluators.h"
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/print.h"

namespace edge_infer {
namespace {

using Ids = std::span<const ValueId>;
using Values = Result<std::vector<ValueId>>;

Status expect_inner(const InferContext& c, const SymInt& a, const SymInt& b) {
  return expect_equal_size(c, b, a, "the inner size of the second operand");
}

// [..., M, K] x [..., K, N] with broadcast batches; a vector counts as one row or one column, which the
// result lacks.
Result<Types> infer_matmul(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_same_dtype(c, 0, 1));
  Sizes a = c.inputs[0]->sizes, b = c.inputs[1]->sizes;
  if (a.empty() || b.empty()) return fail(ErrorCode::kInvalidArgument, "an operand has no dimensions");
  const bool is_row = a.size() == 1, is_column = b.size() == 1;
  if (is_row) a.insert(a.begin(), SymInt(1));
  if (is_column) b.push_back(SymInt(1));
  EDGE_INFER_RETURN_IF_ERROR(expect_inner(c, a.back(), b[b.size() - 2]));
  const SymInt m = a[a.size() - 2], n = b.back();
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  EDGE_INFER_ASSIGN(Sizes sizes, broadcast_sizes(a, b));
  if (!is_row) sizes.push_back(m);
  if (!is_column) sizes.push_back(n);
  return Types{{c.inputs[0]->dtype, std::move(sizes)}};
}

template <int64_t Rank>
Result<Types> infer_exact_rank(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, 0, Rank));
  EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, 1, Rank));
  if (Rank == 3)
    EDGE_INFER_RETURN_IF_ERROR(expect_equal_size(c, c.inputs[1]->sizes[0], c.inputs[0]->sizes[0],
                                                 "the batch of the second operand"));
  return infer_matmul(c);
}

Result<Types> infer_addmm(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_same_dtype(c, 0, 1));
  EDGE_INFER_RETURN_IF_ERROR(expect_floating(c, 0));
  const InferContext product{c.op, c.inputs.subspan(1), c.node, c.symbols};
  EDGE_INFER_ASSIGN(Types types, infer_exact_rank<2>(product));
  EDGE_INFER_ASSIGN(const Sizes sizes, broadcast_sizes(c.inputs[0]->sizes, types[0].sizes));
  if (!(sizes == types[0].sizes))
    return fail(ErrorCode::kInvalidArgument, "self {} does not broadcast to {}", print(*c.inputs[0]),
                print(types[0]));
  return types;
}

Result<Types> infer_linear(const InferContext& c) {
  const TensorType &x = *c.inputs[0], &w = *c.inputs[1];
  EDGE_INFER_RETURN_IF_ERROR(expect_same_dtype(c, 0, 1));
  EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, 1, 2));
  if (x.rank() == 0) return fail(ErrorCode::kInvalidArgument, "input has no dimensions");
  EDGE_INFER_RETURN_IF_ERROR(expect_equal_size(c, w.sizes[1], x.sizes.back(), "the inner size of weight"));
  if (c.inputs[2] != nullptr) {
    EDGE_INFER_RETURN_IF_ERROR(expect_same_dtype(c, 0, 2));
    EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, 2, 1));
    EDGE_INFER_RETURN_IF_ERROR(expect_equal_size(c, c.inputs[2]->sizes[0], w.sizes[0], "the size of bias"));
  }
  TensorType type = x;
  type.sizes.back() = w.sizes[0];
  return Types{std::move(type)};
}

// --- Evaluation ---

// out[m, n] = sum over k of a[m, k] * b[k, n], in ascending k.
template <typename T>
void multiply(const T* a, const T* b, T* out, int64_t m, int64_t k, int64_t n) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      const T x = a[i * k + p];
      for (int64_t j = 0; j < n; ++j) {
        if constexpr (std::is_integral_v<T>) {
          out[i * n + j] = static_cast<T>(static_cast<uint64_t>(out[i * n + j]) +
                                          static_cast<uint64_t>(x) * static_cast<uint64_t>(b[p * n + j]));
        } else {
          out[i * n + j] += x * b[p * n + j];
        }
      }
    }
}

template <typename T>
std::vector<T> product(const HostTensor& a, const HostTensor& b, const std::vector<T>& x,
                       const std::vector<T>& y, const std::vector<int64_t>& out_sizes) {
  const bool is_row = a.sizes.size() == 1, is_column = b.sizes.size() == 1;
  const int64_t k = a.sizes.back();
  const int64_t m = is_row ? 1 : a.sizes[a.sizes.size() - 2], n = is_column ? 1 : b.sizes.back();
  std::vector<int64_t> batch = out_sizes;
  batch.resize(batch.size() - (is_row ? 0 : 1) - (is_column ? 0 : 1));
  const auto leading = [](const HostTensor& t) {
    return std::vector<int64_t>(t.sizes.begin(),
                                t.sizes.end() - std::min<std::ptrdiff_t>(2, std::ssize(t.sizes)));
  };
  const auto at_a = broadcast_index(leading(a), batch), at_b = broadcast_index(leading(b), batch);
  std::vector<T> out(at_a.size() * static_cast<size_t>(m * n));
  for (size_t i = 0; i < at_a.size(); ++i)
    multiply(x.data() + at_a[i] * static_cast<size_t>(m * k), y.data() + at_b[i] * static_cast<size_t>(k * n),
             out.data() + i * static_cast<size_t>(m * n), m, k, n);
  return out;
}

Status evaluate_matmul(const EvaluateContext& c) {
  const HostTensor &a = c.in(0), &b = c.in(1);
  if (is_floating(c.out().dtype)) {
    c.out().store(product(a, b, a.to_doubles(), b.to_doubles(), c.out().sizes));
  } else {
    c.out().store(product(a, b, a.to_integers(), b.to_integers(), c.out().sizes));
  }
  return {};
}

Status evaluate_addmm(const EvaluateContext& c) {
  const double alpha = attribute_as<double>(c.node, "alpha"), beta = attribute_as<double>(c.node, "beta");
  auto out = product(c.in(1), c.in(2), c.in(1).to_doubles(), c.in(2).to_doubles(), c.out().sizes);
  const auto self = c.in(0).to_doubles();
  const auto index = broadcast_index(c.in(0).sizes, c.out().sizes);
  // beta 0 means that self is not read, NaN or not.
  for (size_t i = 0; i < out.size(); ++i) out[i] = alpha * out[i] + (beta == 0 ? 0 : beta * self[index[i]]);
  c.out().store(out);
  return {};
}

// Sum over k of x times w, and the bias, in the arithmetic of T.
template <typename T, auto Add, auto Multiply>
std::vector<T> linear_of(const EvaluateContext& c, const std::vector<T>& x, const std::vector<T>& w,
                         const std::vector<T>& bias) {
  const auto k = static_cast<size_t>(c.in(1).sizes[1]), n = static_cast<size_t>(c.in(1).sizes[0]);
  std::vector<T> out(static_cast<size_t>(c.out().elements()));
  for (size_t i = 0; i < out.size(); ++i) {
    const T* row = x.data() + i / n * k;
    const T* column = w.data() + i % n * k;
    T sum = 0;
    for (size_t p = 0; p < k; ++p) sum = Add(sum, Multiply(row[p], column[p]));
    out[i] = bias.empty() ? sum : Add(sum, bias[i % n]);
  }
  return out;
}
Status evaluate_linear(const EvaluateContext& c) {
  constexpr auto kPlus = [](double a, double b) { return a + b; };
  constexpr auto kTimes = [](double a, double b) { return a * b; };
  if (is_floating(c.out().dtype))
    c.out().store(linear_of<double, kPlus, kTimes>(c, c.in(0).to_doubles(), c.in(1).to_doubles(),
                                                   c.has(2) ? c.in(2).to_doubles() : std::vector<double>()));
  else
    c.out().store(linear_of<int64_t, wrapping_add, wrapping_mul>(
        c, c.in(0).to_integers(), c.in(1).to_integers(),
        c.has(2) ? c.in(2).to_integers() : std::vector<int64_t>()));
  return {};
}

// --- Decompositions and derivatives ---

ValueId matmul(GraphBuilder& b, ValueId x, ValueId y) {
  return b.op("aten.matmul", {x, y});
}
ValueId transposed(GraphBuilder& b, ValueId x) {
  return b.op("aten.transpose", {x}, {{"dim0", int64_t{-2}}, {"dim1", int64_t{-1}}});
}
ValueId scaled(GraphBuilder& b, ValueId x, double by) {
  return by == 1 ? x : b.op("aten.mul.Scalar", {x}, {{"scalar", by}});
}

Values decompose_to_matmul(GraphBuilder& b, const Node&, Ids in) {
  return std::vector{matmul(b, in[0], in[1])};
}
Values decompose_addmm(GraphBuilder& b, const Node& node, Ids in) {
  const double alpha = attribute_as<double>(node, "alpha"), beta = attribute_as<double>(node, "beta");
  const ValueId product = scaled(b, matmul(b, in[1], in[2]), alpha);
  if (beta == 0) return std::vector{product};
  return std::vector{b.op("aten.add", {product, scaled(b, in[0], beta)})};
}
Values decompose_linear(GraphBuilder& b, const Node&, Ids in) {
  const ValueId product = matmul(b, in[0], transposed(b, in[1]));
  return std::vector{in[2] == kNoValue ? product : b.op("aten.add", {product, in[2]})};
}

Values derive_matmul(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  if (!is_floating(b.type(in[0]).dtype)) return std::vector{kNoValue, kNoValue};
  const TensorType x = b.type(in[0]), y = b.type(in[1]);
  // A vector becomes the row or column that it counts as.
  const auto as = [&](ValueId v, Sizes sizes) {
    return b.op("aten.view", {v}, {{"size", std::move(sizes)}});
  };
  const ValueId row = x.rank() == 1 ? as(in[0], {1, x.sizes[0]}) : in[0];
  const ValueId column = y.rank() == 1 ? as(in[1], {y.sizes[0], 1}) : in[1];
  ValueId grad = g[0];
  if (x.rank() == 1)
    grad = b.op("aten.unsqueeze", {grad}, {{"dim", y.rank() == 1 ? int64_t{-1} : int64_t{-2}}});
  if (y.rank() == 1) grad = b.op("aten.unsqueeze", {grad}, {{"dim", int64_t{-1}}});
  const ValueId of_x = sum_to(b, matmul(b, grad, transposed(b, column)), b.type(row));
  const ValueId of_y = sum_to(b, matmul(b, transposed(b, row), grad), b.type(column));
  return std::vector{x.rank() == 1 ? as(of_x, x.sizes) : of_x, y.rank() == 1 ? as(of_y, y.sizes) : of_y};
}
Values derive_addmm(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  const ValueId grad = scaled(b, g[0], attribute_as<double>(node, "alpha"));
  return std::vector{sum_to(b, scaled(b, g[0], attribute_as<double>(node, "beta")), b.type(in[0])),
                     matmul(b, grad, transposed(b, in[2])), matmul(b, transposed(b, in[1]), grad)};
}
Values derive_linear(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  const TensorType x = b.type(in[0]), w = b.type(in[1]);
  SymInt rows = 1;
  for (size_t i = 0; i + 1 < x.sizes.size(); ++i) rows = rows * x.sizes[i];
  const ValueId grad = b.op("aten.view", {g[0]}, {{"size", Sizes{rows, w.sizes[0]}}});
  const ValueId input = b.op("aten.view", {in[0]}, {{"size", Sizes{rows, w.sizes[1]}}});
  return std::vector{matmul(b, g[0], in[1]), matmul(b, transposed(b, grad), input),
                     in[2] == kNoValue ? kNoValue : sum_to(b, grad, b.type(in[2]))};
}

}  // namespace

void add_matmul_ops(std::vector<OpInfo>& table) {
  const auto add = [&](const char* name, std::vector<OperandSchema> operands,
                       std::vector<AttributeSchema> attributes, InferFn infer, EvaluateFn evaluate,
                       DecomposeFn decompose, DerivativeFn derivative) {
    table.push_back({.name = name,
                     .kind = OpKind::kMatmul,
                     .operands = std::move(operands),
                     .attributes = std::move(attributes),
                     .infer = infer,
                     .evaluate = evaluate,
                     .decompose = decompose,
                     .derivative = derivative});
  };
  const std::vector<OperandSchema> pair = {{"self"}, {"other"}};
  add("aten.matmul", pair, {}, infer_matmul, evaluate_matmul, nullptr, derive_matmul);
  add("aten.mm", pair, {}, infer_exact_rank<2>, evaluate_matmul, decompose_to_matmul, derive_matmul);
  add("aten.bmm", pair, {}, infer_exact_rank<3>, evaluate_matmul, decompose_to_matmul, derive_matmul);
  add("aten.addmm", {{"self"}, {"mat1"}, {"mat2"}},
      {with_default("beta", AttributeKind::kFloat, 1.0), with_default("alpha", AttributeKind::kFloat, 1.0)},
      infer_addmm, evaluate_addmm, decompose_addmm, derive_addmm);
  add("aten.linear", {{"input"}, {"weight"}, optional_operand("bias")}, {}, infer_linear, evaluate_linear,
      decompose_linear, derive_linear);
}

}  // namespace edge_infer
