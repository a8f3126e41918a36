// What the evaluators of the op families share.
#pragma once

#include <vector>

#include "compiler/graph/evaluate.h"
#include "compiler/graph/ops.h"

namespace edge_infer {

// Row-major strides in elements.
std::vector<int64_t> dense_strides(const std::vector<int64_t>& sizes);
// For each element of a tensor of `sizes`, in order, the element read from a tensor of `from` sizes that
// broadcasts to it.
std::vector<size_t> broadcast_index(const std::vector<int64_t>& from, const std::vector<int64_t>& sizes);

// A tensor seen as [outer, length, inner] around one dimension; a 0-dimensional one is [1, 1, 1].
struct DimView {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t index(int64_t o, int64_t i, int64_t n) const { return (o * length + i) * inner + n; }
};
DimView view_dim(const std::vector<int64_t>& sizes, int64_t dim);

// The promoted type of tensors (and of a scalar, where given), as the shape rules compute it.
DType promoted_dtype(std::span<const HostTensor* const> tensors, const Attribute* scalar = nullptr);

// Maps over the broadcast operands in the promoted type `compute`: doubles rounded to it, or integers.
template <typename F>
void map_doubles(const EvaluateContext& c, DType compute, F&& f) {
  std::vector<std::vector<double>> values;
  std::vector<std::vector<size_t>> index;
  for (const HostTensor* input : c.inputs) {
    values.push_back(input->to_doubles());
    for (double& v : values.back()) v = round_to(compute, v);
    index.push_back(broadcast_index(input->sizes, c.out().sizes));
  }
  std::vector<double> result(static_cast<size_t>(c.out().elements()));
  std::vector<double> arguments(values.size());
  for (size_t i = 0; i < result.size(); ++i) {
    for (size_t k = 0; k < values.size(); ++k) arguments[k] = values[k][index[k][i]];
    result[i] = f(std::span<const double>(arguments));
  }
  c.out().store(result);
}
template <typename F>
void map_integers(const EvaluateContext& c, F&& f) {
  std::vector<std::vector<int64_t>> values;
  std::vector<std::vector<size_t>> index;
  for (const HostTensor* input : c.inputs) {
    values.push_back(input->to_integers());
    index.push_back(broadcast_index(input->sizes, c.out().sizes));
  }
  std::vector<int64_t> result(static_cast<size_t>(c.out().elements()));
  std::vector<int64_t> arguments(values.size());
  for (size_t i = 0; i < result.size(); ++i) {
    for (size_t k = 0; k < values.size(); ++k) arguments[k] = values[k][index[k][i]];
    result[i] = f(std::span<const int64_t>(arguments));
  }
  c.out().store(result);
}

// NaN wins, as in PyTorch.
double max_or_nan(double a, double b);
double min_or_nan(double a, double b);

}  // namespace edge_infer
