// Arena: the memory of one call's temps. Grows on demand, is trimmed after a stretch of much smaller calls,
// and is 64-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/error.h"

namespace edge_infer {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // At least `bytes` bytes; content is undefined. A size within the present capacity allocates nothing.
  // Errors: kResourceExhausted.
  Status reserve(size_t bytes);
  std::byte* data() const { return data_; }
  size_t capacity() const { return capacity_; }

 private:
  void release();

  std::byte* data_ = nullptr;
  size_t capacity_ = 0;
  // Trimming: the largest demand of the last window of calls.
  size_t window_peak_ = 0;
  int window_calls_ = 0;
};

}  // namespace edge_infer
