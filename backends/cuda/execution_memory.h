// ExecutionMemory: the memory of one execution of a program at a time, for all sizes up to a capacity. Its
// addresses never change, so that graphs can hold them; more capacity is another ExecutionMemory.
#pragma once

#include <vector>

#include "backends/cuda/plan.h"

namespace edge_infer::cuda {

struct ExecutionMemory {
  SymbolValues capacity;
  std::vector<int64_t> sizes;        // of the plan's table at the capacity
  std::vector<size_t> slot_offsets;  // in the arena
  DeviceBuffer arena;                // temporaries
  DeviceBuffer block;                // BlockLayout, device side
  PinnedBuffer pinned;               // BlockLayout, host side

  // Errors: kResourceExhausted naming bytes and capacity, kDeviceLost.
  static Result<ExecutionMemory> allocate(const CudaPlan& plan, const SymbolValues& capacity,
                                          CudaDevice::Scarcity scarcity = CudaDevice::Scarcity::kFail);

  size_t device_bytes() const { return arena.bytes() + block.bytes(); }
};

}  // namespace edge_infer::cuda
