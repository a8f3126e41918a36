// ConstantMemory: device memory that constants are on their way to, or lie in. Shared by the programs that
// use them.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/staged_copy.h"

namespace edge_infer::cuda {

// Thread-safe.
class ConstantMemory {
 public:
  // Starts copying `items` into `buffer` on a thread of its own and returns; the items' memory outlives the
  // object.
  static std::shared_ptr<ConstantMemory> upload(std::shared_ptr<const CudaDevice> device, DeviceBuffer buffer,
                                                std::vector<CopyItem> items);
  ConstantMemory(const ConstantMemory&) = delete;
  ConstantMemory& operator=(const ConstantMemory&) = delete;
  ~ConstantMemory();  // waits for the copies

  DeviceAddress address() const { return buffer_.address(); }
  size_t bytes() const { return buffer_.bytes(); }
  // Returns when everything has arrived. Errors: those of the copies, to everybody who asks.
  Status wait() const;

 private:
  ConstantMemory(std::shared_ptr<const CudaDevice> device, DeviceBuffer buffer, std::vector<CopyItem> items,
                 int process)
      : device_(std::move(device)), buffer_(std::move(buffer)), items_(std::move(items)), process_(process) {}
  void copy();

  const std::shared_ptr<const CudaDevice> device_;
  const DeviceBuffer buffer_;
  const std::vector<CopyItem> items_;
  const int process_;
  mutable std::mutex mutex_;
  mutable std::condition_variable arrived_;
  bool done_ = false;
  Status status_;
  std::thread copier_;
};

}  // namespace edge_infer::cuda
