// How long kernels take on a device, one against the other: what max-autotune chooses by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"

namespace edge_infer {

class Device;

// One call of a kernel, as a program would make it at one size, over operands that are made up.
struct MeasuredCall {
  struct Buffer {
    DType dtype = DType::kF32;
    size_t bytes = 0;
    bool is_output = false;
    // What the buffer holds, `bytes` long; empty: fill_operand().
    std::vector<std::byte> content{};
  };
  std::vector<Buffer> buffers;    // as Call::buffers
  std::vector<int64_t> integers;  // as Call::integers
  int64_t rows = 1, columns = 1;  // the domain
};

struct MeasureOptions {
  int rounds = 25;            // at most; each candidate once a round, in turn
  double max_seconds = 0.25;  // of all rounds together; at least two are made
  std::function<bool()> is_cancelled{};
};

// One candidate.
struct Measurement {
  Status status{};                     // why it is out: it does not launch, its results have other bits
  std::vector<int64_t> nanoseconds{};  // one a round
};

// Numbers of order 1 that are no denormals, since the time of arithmetic may depend on them; zeros in types
// that are no floating ones.
void fill_operand(DType dtype, std::span<std::byte> bytes);

// Device::measure() for kernels that are functions of the host: on this thread, over the whole domain.
// `kernels` are loaded. Errors: kNotFound, kUnsupported (a kernel without a function), kCancelled.
Result<std::vector<Measurement>> measure_on_host(const Device& device, const MeasuredCall& call,
                                                 std::span<const std::string> kernels,
                                                 const MeasureOptions& options);

}  // namespace edge_infer
