// Constants of programs in device memory, each once a device and host address: programs of one model share
// their weights.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "backends/cuda/device_memory.h"
#include "runtime/base/error.h"

namespace edge_infer {
class ConstantSource;
}

namespace edge_infer::cuda {

struct CudaPlan;

// What lies where on a device. Thread-safe.
class ConstantTable {
 public:
  struct Place {
    DeviceAddress address = 0;
    size_t bytes = 0;
    std::weak_ptr<const DeviceBuffer> memory;  // expires with the last program that uses it
  };
  std::mutex mutex;
  std::map<const void*, Place> places;  // by host address
};

// Fills plan.constants, plan.held and plan.constant_bytes. A host address stands for its bytes while a
// program that was made with it lives, as ConstantSource promises.
Status upload_constants(CudaPlan& plan, ConstantSource& source);

}  // namespace edge_infer::cuda
