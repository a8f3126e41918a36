// The loaded kernels of a CUDA device by name.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/driver/driver.h"
#include "backends/cuda/launch.h"
#include "runtime/device/device.h"

namespace edge_infer::cuda {

class CudaDevice;

struct CudaKernel {
  FunctionHandle function = nullptr;
  CudaLaunch launch;
  int32_t registers = 0, spill_bytes = 0;
  size_t code_bytes = 0;
};

// Thread-safe. Kernels stay loaded, at the same address, until the object is destroyed.
class CudaKernels {
 public:
  explicit CudaKernels(const CudaDevice& device) : device_(device) {}
  ~CudaKernels();

  size_t size() const;
  // As Device::load_code. Several at a time, on threads whose context this sees to.
  Status load(std::span<const NamedBlob> blobs);
  // PTX with a function "k"; does nothing where code is loaded under the name.
  Status load_text(std::string_view name, const char* ptx, const CudaLaunch& launch);
  // Null when no code is loaded under the name.
  const CudaKernel* find(std::string_view name) const;

 private:
  struct Entry {
    CudaKernel kernel;
    LibraryHandle library = nullptr;
    std::string digest;  // of the blob
  };
  Result<Entry> load_blob(std::string_view name, const KernelBlob& blob) const;
  Result<Entry> load_image(std::string_view name, const CudaLaunch& launch, const void* image) const;

  const CudaDevice& device_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace edge_infer::cuda
