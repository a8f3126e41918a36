// Constants of programs in device memory, each once a device and host address: programs of one model share
// their weights.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "backends/cuda/device_memory.h"
#include "runtime/base/error.h"
#include "runtime/program/program.h"

namespace edge_infer {
class ConstantSource;
}

namespace edge_infer::cuda {

class ConstantMemory;

// What lies where on a device, or is on its way there. Thread-safe.
class ConstantTable {
 public:
  struct Place {
    DeviceAddress address = 0;
    size_t bytes = 0;
    std::weak_ptr<const ConstantMemory> memory;  // expires with the last program that uses it
  };
  std::mutex mutex;
  std::map<const void*, Place> places;  // by host address
};

// Constants that have a place: addresses are known, bytes may still be on their way.
struct PlacedConstants {
  std::vector<DeviceAddress> addresses;  // of each constant
  size_t bytes = 0;                      // shared ones, too
  std::vector<std::shared_ptr<const ConstantMemory>> held;

  // Returns when all have arrived. Errors: why one has not.
  Status wait() const;
};

enum class ConstantKinds {
  kAll,
  kShared,  // those with sources: the weights; the others get no address
};

// Gives constants their place and starts the upload of those that have none yet. A host address stands for
// its bytes while a program that was made with it lives, as ConstantSource promises. Errors:
// kResourceExhausted, kDeviceLost, what `source` reports.
Result<PlacedConstants> place_constants(const std::shared_ptr<const CudaDevice>& device,
                                        std::string_view program, std::span<const ConstantDecl> constants,
                                        ConstantSource& source, ConstantKinds kinds);

}  // namespace edge_infer::cuda
