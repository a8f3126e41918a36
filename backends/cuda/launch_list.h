// LaunchList: the kernels of a program for one class of sizes, with grids and arguments, in order: launched
// one by one, or built into a graph once and replayed.
#pragma once

#include <vector>

#include "backends/cuda/block_layout.h"
#include "backends/cuda/execution_memory.h"
#include "backends/cuda/launch_graph.h"
#include "backends/cuda/plan.h"

namespace edge_infer::cuda {

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
  std::vector<KernelLaunch> launches_;
};

}  // namespace edge_infer::cuda
