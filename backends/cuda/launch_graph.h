// Kernels with their grids and arguments, and an explicitly built graph of them.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "backends/cuda/device.h"

namespace edge_infer::cuda {

struct KernelLaunch {
  FunctionHandle function = nullptr;
  unsigned grid = 1, threads = 1, shared_bytes = 0, cluster = 1;
  bool programmatic = false;  // may start before the launch in front of it has finished
  std::vector<DeviceAddress> addresses;
  uint32_t chunks = 0;  // of read_block
  std::vector<EncodedTensorMap> maps;
  std::vector<void*> parameters;  // into the members above

  // Once the launch stays where it is.
  void point_to_parameters();
};

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

// One node a launch in order: plain edges, and programmatic ones where a launch is. The device's context is
// current.
Result<GraphExec> build_graph(const CudaDevice& device, std::span<const KernelLaunch> launches,
                              StreamHandle stream);

// A map of a kernel over a buffer of `rows` rows. Errors: kInternal (the driver refuses it), kDeviceLost.
Result<EncodedTensorMap> encode_tensor_map(const CudaDevice& device, const TensorMap& map,
                                           DeviceAddress address, int64_t rows);

}  // namespace edge_infer::cuda
