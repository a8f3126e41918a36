#include "runtime/executor/arena.h"

#include <sys/mman.h>

#include <algorithm>

namespace edge_infer {
namespace {
constexpr size_t kGranule = size_t{64} << 10;
constexpr int kWindow = 64;                // calls between two looks at the capacity
constexpr size_t kKeep = size_t{8} << 20;  // below this, trimming is not worth the page faults
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
  const size_t rounded = (bytes + kGranule - 1) / kGranule * kGranule;
  void* data = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return fail(ErrorCode::kResourceExhausted, "cannot get {} bytes of memory for the temporaries of a call",
                rounded);
  data_ = static_cast<std::byte*>(data);
  capacity_ = rounded;
  return {};
}

}  // namespace edge_infer
