// Memory for a kernel's argument that ends where a page without access begins, with a pattern in front of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace edge_infer::testing {

class GuardedBuffer {
 public:
  // The start is a multiple of `alignment`, which moves the end away from the page by less than that.
  GuardedBuffer(size_t bytes, size_t alignment);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  std::byte* data() { return data_; }
  size_t bytes() const { return bytes_; }
  // Whether the bytes in front and behind still hold the pattern.
  bool intact() const;

 private:
  std::byte *map_ = nullptr, *data_ = nullptr, *end_ = nullptr;
  size_t map_bytes_ = 0, bytes_ = 0;
};

}  // namespace edge_infer::testing
