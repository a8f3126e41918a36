#include "tests/kernels/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace edge_infer::testing {
namespace {
constexpr std::byte kPattern{0xc3};
}

GuardedBuffer::GuardedBuffer(size_t bytes, size_t alignment) : bytes_(bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t usable = (bytes + 256 + page - 1) / page * page;
  map_bytes_ = usable + page;
  void* map = mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) std::abort();
  map_ = static_cast<std::byte*>(map);
  end_ = map_ + usable;
  if (mprotect(end_, page, PROT_NONE) != 0) std::abort();
  std::fill(map_, end_, kPattern);
  const size_t start = (usable - bytes) / alignment * alignment;
  data_ = map_ + start;
}

GuardedBuffer::~GuardedBuffer() {
  munmap(map_, map_bytes_);
}

bool GuardedBuffer::intact() const {
  const auto pattern = [](std::byte b) { return b == kPattern; };
  return std::all_of(map_, data_, pattern) && std::all_of(static_cast<const std::byte*>(data_ + bytes_),
                                                          static_cast<const std::byte*>(end_), pattern);
}

}  // namespace edge_infer::testing
