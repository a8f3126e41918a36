#include "backends/cuda/staged_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cuda/device.h"

namespace edge_infer::cuda {
namespace {

// Less is not worth page-locking memory.
constexpr size_t kLeastStaged = size_t{256} << 10;

// Gives the bytes of the items in one sequence, gaps included.
class Source {
 public:
  explicit Source(std::span<const CopyItem> items) : items_(items) {}

  size_t end() const { return items_.empty() ? 0 : items_.back().offset + items_.back().bytes; }

  void read(size_t begin, size_t end, std::byte* out) {
    while (next_ < items_.size() && items_[next_].offset < end) {
      const CopyItem& item = items_[next_];
      const size_t first = std::max(begin, item.offset), last = std::min(end, item.offset + item.bytes);
      if (first < last)
        std::memcpy(out + (first - begin), static_cast<const std::byte*>(item.data) + (first - item.offset),
                    last - first);
      if (item.offset + item.bytes > end) return;
      ++next_;
    }
  }

 private:
  std::span<const CopyItem> items_;
  size_t next_ = 0;  // first that is not read to its end
};

class StagedCopy {
 public:
  explicit StagedCopy(const CudaDevice& device) : device_(device) {}
  StagedCopy(const StagedCopy&) = delete;
  StagedCopy& operator=(const StagedCopy&) = delete;
  // The device reads the buffers until the stream is done.
  ~StagedCopy() {
    const Driver& driver = device_.driver();
    if (stream_ != nullptr) driver.stream_synchronize(stream_);
    for (Half& half : halves_) {
      if (half.copied != nullptr) driver.event_destroy(half.copied);
      half.buffer = PinnedBuffer();
    }
    if (stream_ != nullptr) driver.stream_destroy(stream_);
  }

  Status open(size_t bytes) {
    for (Half& half : halves_) {
      EDGE_INFER_ASSIGN(half.buffer, device_.allocate_pinned(bytes, "the upload of weights"));
      EDGE_INFER_RETURN_IF_ERROR(check(
          device_.driver().event_create(&half.copied, kEventBlockingSync | kEventDisableTiming), "an event"));
    }
    return check(device_.driver().stream_create(&stream_, kStreamNonBlocking), "a stream");
  }

  Status run(DeviceAddress destination, Source source) {
    const Driver& driver = device_.driver();
    const size_t end = source.end(), room = halves_.front().buffer.bytes();
    size_t turn = 0;
    for (size_t begin = 0; begin < end; begin += room, ++turn) {
      Half& half = halves_[turn % halves_.size()];
      if (half.used) EDGE_INFER_RETURN_IF_ERROR(check(driver.event_synchronize(half.copied), "a copy"));
      const size_t bytes = std::min(room, end - begin);
      source.read(begin, begin + bytes, half.buffer.data());
      EDGE_INFER_RETURN_IF_ERROR(check(
          driver.copy_to_device_async(destination + begin, half.buffer.data(), bytes, stream_), "a copy"));
      EDGE_INFER_RETURN_IF_ERROR(check(driver.event_record(half.copied, stream_), "an event"));
      half.used = true;
    }
    return check(driver.stream_synchronize(stream_), "a copy");
  }

 private:
  struct Half {
    PinnedBuffer buffer;
    EventHandle copied = nullptr;
    bool used = false;
  };
  Status check(DriverCode code, const char* what) const {
    return device_.check(code, fmt::format("upload weights: {}", what));
  }

  const CudaDevice& device_;
  StreamHandle stream_ = nullptr;
  std::array<Half, 2> halves_;
};

Status copy_pageable(const CudaDevice& device, DeviceAddress destination, std::span<const CopyItem> items) {
  for (const CopyItem& item : items)
    EDGE_INFER_RETURN_IF_ERROR(device.check(
        device.driver().copy_to_device(destination + item.offset, item.data, item.bytes), "upload weights"));
  // A copy from pageable memory may return before its last bytes have arrived, and the programs' streams do
  // not wait for the default one.
  return device.check(device.driver().stream_synchronize(nullptr), "upload weights");
}

}  // namespace

Status copy_staged(const CudaDevice& device, DeviceAddress destination, std::span<const CopyItem> items) {
  EDGE_INFER_RETURN_IF_ERROR(device.usable());
  const CurrentContext current(device);
  const Source source(items);
  if (source.end() < kLeastStaged) return copy_pageable(device, destination, items);
  StagedCopy copy(device);
  const Status opened = copy.open(std::min(kStagingBytes, source.end()));
  if (!opened && opened.error().code == ErrorCode::kResourceExhausted)
    return copy_pageable(device, destination, items);
  EDGE_INFER_RETURN_IF_ERROR(opened);
  return copy.run(destination, source);
}

}  // namespace edge_infer::cuda
