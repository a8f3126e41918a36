// Copies of large host memory to the device through two page-locked buffers: while one travels, the processor
// fills the other. The driver's own copies from pageable memory do the same more slowly, and hold the caller.
#pragma once

#include <cstddef>
#include <span>

#include "backends/cuda/device_memory.h"
#include "runtime/base/error.h"

namespace edge_infer::cuda {

struct CopyItem {
  const void* data = nullptr;
  size_t offset = 0;  // of the destination
  size_t bytes = 0;
};

inline constexpr size_t kStagingBytes = size_t{4} << 20;  // of each buffer

// Copies `items`, which are ordered by offset and do not overlap, to `destination` + offset; what lies
// between them is written, too, with anything. Returns when all have arrived. Where there is no page-locked
// memory the driver copies item by item. Any thread. Errors: kDeviceLost, kInternal; then nothing is on its
// way any more.
Status copy_staged(const CudaDevice& device, DeviceAddress destination, std::span<const CopyItem> items);

}  // namespace edge_infer::cuda
