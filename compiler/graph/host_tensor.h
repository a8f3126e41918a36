// A tensor in host memory, dense row-major: what evaluate() computes on and what .npz files hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"

namespace edge_infer {

struct HostTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> sizes;
  std::vector<std::byte> bytes;

  int64_t elements() const;
  // The elements widened; integers and bools as numbers. to_integers() of a floating tensor truncates and
  // saturates.
  std::vector<double> to_doubles() const;
  std::vector<int64_t> to_integers() const;
  // The number of elements must fit. Floats round to nearest even; integers wrap to the type's width;
  // anything but 0 is true. A float stored to an integer type is truncated and saturated, NaN gives 0.
  void store(const std::vector<double>& values);
  void store(const std::vector<int64_t>& values);
};

// Zero-filled. Errors: kInvalidArgument for a negative size, kResourceExhausted beyond `limit_bytes`.
constexpr int64_t kMaxHostTensorBytes = int64_t{1} << 31;
Result<HostTensor> make_host_tensor(DType dtype, std::vector<int64_t> sizes,
                                    int64_t limit_bytes = kMaxHostTensorBytes);

// The nearest value of a floating type, ties to even; overflow gives an infinity. f64 is the identity.
double round_to(DType dtype, double value);

// "[2, 3]"
std::string print_sizes(const std::vector<int64_t>& sizes);

}  // namespace edge_infer
