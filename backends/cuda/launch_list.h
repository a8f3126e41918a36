// LaunchList: the kernels of a program for one class of sizes, with grids and arguments, in order: launched
// one by one, or built into a graph once and replayed.
#pragma once

#include <vector>

#include "backends/cuda/block_layout.h"
#include "backends/cuda/execution_memory.h"
#include "backends/cuda/plan.h"

namespace edge_infer::cuda {

// An executable graph; destroyed with the object. No replay of it may be running then.
class GraphExec {
 public:
  GraphExec() = default;
  GraphExec(const CudaDevice* device, GraphExecHandle handle) : device_(device), handle_(handle) {}
  GraphExec(GraphExec&& other) noexcept
      : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  GraphExec& operator=(GraphExec&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~GraphExec();
  GraphExecHandle handle() const { return handle_; }

 private:
  const CudaDevice* device_ = nullptr;
  GraphExecHandle handle_ = nullptr;
};

class LaunchList {
 public:
  // The calls whose condition's bit is set. `memory` outlives the list. Errors: kInternal (a tensor map that
  // the driver refuses), kDeviceLost.
  static Result<LaunchList> make(const CudaPlan& plan, const ExecutionMemory& memory,
                                 const SymbolValues& limits, uint64_t conditions);

  // The device's context is current for both. `marks`: none, or an event to record before each launch and
  // one after the last.
  Status launch(StreamHandle stream, std::span<const EventHandle> marks = {}) const;
  // One node a launch in order: plain edges, and programmatic ones where both kernels take part in it.
  Result<GraphExec> instantiate(StreamHandle stream) const;

  const BlockLayout& layout() const { return layout_; }
  const SymbolValues& limits() const { return limits_; }
  uint64_t conditions() const { return conditions_; }
  size_t size() const { return launches_.size(); }

 private:
  struct Launch {
    FunctionHandle function = nullptr;
    unsigned grid = 1, threads = 1, shared_bytes = 0, cluster = 1;
    bool programmatic = false;  // may start before the launch in front of it has finished
    std::vector<DeviceAddress> addresses;
    uint32_t chunks = 0;  // of read_block
    std::vector<EncodedTensorMap> maps;
    std::vector<void*> parameters;  // into the members above
  };
  DeviceAddress address_of(size_t buffer) const;
  void add_read_block();
  Status add_call(const CudaPlan::Call& call, std::span<const int64_t> sizes);
  Result<EncodedTensorMap> encode(const TensorMap& map, size_t buffer,
                                  std::span<const int64_t> class_sizes) const;

  const CudaPlan* plan_ = nullptr;
  const ExecutionMemory* memory_ = nullptr;
  SymbolValues limits_;
  uint64_t conditions_ = 0;
  BlockLayout layout_;
  std::vector<Launch> launches_;
};

}  // namespace edge_infer::cuda
