// Random operands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "compiler/graph/host_tensor.h"

namespace edge_infer::test {

// Normal numbers of deviation `scale`; after a million they begin again.
inline HostTensor normal_tensor(DType dtype, std::vector<int64_t> sizes, double scale,
                                std::mt19937_64& random) {
  constexpr int64_t kMost = 1'000'003;
  HostTensor tensor = *make_host_tensor(dtype, std::move(sizes));
  HostTensor part = *make_host_tensor(dtype, {std::min(tensor.elements(), kMost)});
  std::normal_distribution<double> normal(0, scale);
  std::vector<double> numbers(static_cast<size_t>(part.elements()));
  for (double& x : numbers) x = normal(random);
  part.store(numbers);
  for (size_t at = 0; at < tensor.bytes.size(); at += part.bytes.size())
    std::copy_n(part.bytes.begin(), std::min(part.bytes.size(), tensor.bytes.size() - at),
                tensor.bytes.begin() + static_cast<std::ptrdiff_t>(at));
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
