#include "runtime/executor/arena.h"

#include <sys/mman.h>

#include <algorithm>

namespace edge_infer {
namespace {
constexpr size_t kGranule = size_t{64} << 10;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr int kWindow = 64;                // calls between two looks at the capacity
constexpr size_t kKeep = size_t{8} << 20;  // below this, trimming is not worth the page faults
size_t round_up(size_t n, size_t granule) {
  return (n + granule - 1) / granule * granule;
}

// `bytes` from a multiple of `alignment` on; null: there is no memory.
std::byte* map_aligned(size_t bytes, size_t alignment) {
  const size_t all = bytes + alignment;
  void* data = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(data);
  const size_t before =
      round_up(reinterpret_cast<uintptr_t>(data), alignment) - reinterpret_cast<uintptr_t>(data);
  if (before > 0) ::munmap(begin, before);
  if (before < alignment) ::munmap(begin + before + bytes, alignment - before);
  return begin + before;
}
}  // namespace

Arena::~Arena() {
  release();
}

void Arena::release() {
  if (data_ != nullptr) ::munmap(data_, capacity_);
  data_ = nullptr;
  capacity_ = 0;
}

Status Arena::reserve(size_t bytes) {
  window_peak_ = std::max(window_peak_, bytes);
  if (++window_calls_ >= kWindow) {
    if (capacity_ > kKeep && window_peak_ < capacity_ / 4) release();
    window_calls_ = 0;
    window_peak_ = bytes;
  }
  if (bytes <= capacity_) return {};
  release();
  // Huge pages where at least one is filled: kernels walk over rows, each in a page of its own otherwise.
  const bool huge = bytes >= kHugePage;
  const size_t rounded = round_up(bytes, huge ? kHugePage : kGranule);
  data_ = map_aligned(rounded, huge ? kHugePage : kGranule);
  if (data_ == nullptr)
    return fail(ErrorCode::kResourceExhausted, "cannot get {} bytes of memory for the temporaries of a call",
                rounded);
  if (huge) (void)::madvise(data_, rounded, MADV_HUGEPAGE);  // advice: a kernel without them refuses it
  capacity_ = rounded;
  return {};
}

}  // namespace edge_infer
