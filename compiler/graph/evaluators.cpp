#include "compiler/graph/evaluators.h"

#include <cmath>

namespace edge_infer {

std::vector<int64_t> dense_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  return strides;
}

std::vector<size_t> broadcast_index(const std::vector<int64_t>& from, const std::vector<int64_t>& sizes) {
  const std::vector<int64_t> dense = dense_strides(from);
  std::vector<int64_t> strides(sizes.size(), 0);
  const size_t offset = sizes.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) strides[offset + i] = from[i] == 1 ? 0 : dense[i];
  int64_t elements = 1;
  for (const int64_t size : sizes) elements *= size;
  std::vector<size_t> index(static_cast<size_t>(elements));
  std::vector<int64_t> position(sizes.size(), 0);
  int64_t at = 0;
  for (size_t& i : index) {
    i = static_cast<size_t>(at);
    for (size_t d = sizes.size(); d-- > 0;) {
      at += strides[d];
      if (++position[d] < sizes[d]) break;
      at -= strides[d] * sizes[d];
      position[d] = 0;
    }
  }
  return index;
}

DimView view_dim(const std::vector<int64_t>& sizes, int64_t dim) {
  DimView view;
  for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i) {
    int64_t& part = i < dim ? view.outer : i == dim ? view.length : view.inner;
    part *= sizes[static_cast<size_t>(i)];
  }
  return view;
}

DType promoted_dtype(std::span<const HostTensor* const> tensors, const Attribute* scalar) {
  std::vector<PromotionOperand> operands;
  for (const HostTensor* tensor : tensors)
    operands.push_back(promotion_operand(tensor->dtype, static_cast<int64_t>(tensor->sizes.size())));
  if (scalar != nullptr) operands.push_back(promotion_operand(*scalar));
  return promote(operands);
}

double max_or_nan(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}
double min_or_nan(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
}

}  // namespace edge_infer
