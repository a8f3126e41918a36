// Random operands.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "compiler/graph/host_tensor.h"

namespace edge_infer::test {

// Normal numbers of deviation `scale`.
inline HostTensor normal_tensor(DType dtype, std::vector<int64_t> sizes, double scale,
                                std::mt19937_64& random) {
  HostTensor tensor = *make_host_tensor(dtype, std::move(sizes));
  std::normal_distribution<double> normal(0, scale);
  std::vector<double> numbers(static_cast<size_t>(tensor.elements()));
  for (double& x : numbers) x = normal(random);
  tensor.store(numbers);
  return tensor;
}

inline HostTensor integer_tensor(DType dtype, std::vector<int64_t> sizes,
                                 const std::vector<int64_t>& numbers) {
  HostTensor tensor = *make_host_tensor(dtype, std::move(sizes));
  tensor.store(numbers);
  return tensor;
}

// All ones: NaN, -1.
inline HostTensor poisoned_tensor(DType dtype, std::vector<int64_t> sizes) {
  HostTensor tensor = *make_host_tensor(dtype, std::move(sizes));
  for (std::byte& b : tensor.bytes) b = std::byte{0xFF};
  return tensor;
}

}  // namespace edge_infer::test
