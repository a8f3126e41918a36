// CudaDevice: one GPU behind the Device interface: its facts, memory, loaded kernels and whether it still
// works. Programs run on it through CudaProgram (program.h).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/cuda/device_memory.h"
#include "backends/cuda/driver/driver.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/upload_constants.h"
#include "runtime/device/device.h"

namespace edge_infer::cuda {

struct CudaDeviceOptions {
  std::string select;       // "": the first; "1": by index; "GPU-<uuid>" or its beginning
  size_t memory_limit = 0;  // bytes that this device object may take for weights and temporaries; 0: no limit
  std::string variant;      // "": the best that runs on the GPU; else "sm_80", ...
};

struct CudaDeviceFacts {
  std::string name, uuid;  // "NVIDIA H200", "GPU-..."
  int index = 0;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  int64_t shared_bytes_per_block = 0;
  int64_t l2_bytes = 0;
  size_t memory_bytes = 0;
  int driver_version = 0;   // of CUDA, as in Driver
  int clock_kilohertz = 0;  // of the multiprocessors, at most
  int memory_clock_kilohertz = 0, memory_bus_bits = 0;
  // Programmatic dependent launch: the GPU has it, and the driver lets graphs have such edges.
  bool programmatic_launch = false;
};

// The calling thread's context is the device's while this lives.
class CurrentContext {
 public:
  explicit CurrentContext(const CudaDevice& device);
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext();

 private:
  const CudaDevice& device_;
  bool pushed_;
};

// All methods may be called from any thread. Packed formats are those of pack_rows.h. Uses the primary
// context, as other users of the GPU in this process do.
class CudaDevice final : public Device, public std::enable_shared_from_this<CudaDevice> {
 public:
  // Errors: kUnsupported "no CUDA device: ..." (no driver, no GPU, none like `select`, or one that no code of
  // this build runs on), kInvalidArgument for a bad option.
  static Result<std::shared_ptr<const CudaDevice>> open(const CudaDeviceOptions& options = {});
  ~CudaDevice() override;

  const Target& target() const override { return target_; }
  DevicePeak peak() const override;
  const CudaDeviceFacts& facts() const { return facts_; }
  const Driver& driver() const { return *driver_; }
  ContextHandle context() const { return context_; }

  // A LoadedKernel without function: the kernel is there. Errors: kNotFound.
  Result<LoadedKernel> load_kernel(std::string_view name) const override;
  Result<std::unique_ptr<Executable>> bind(Program program, ConstantSource& constants) const override;
  // Also under names "prebuilt:cuda.<...>": what takes the place of the runtime's own kernels.
  using Device::load_code;
  Result<std::vector<LoadedKernel>> load_code(std::span<const NamedBlob> blobs) const override;
  // Null when no code is loaded under the name; stays valid while the device lives.
  const CudaKernel* find_kernel(std::string_view name) const { return kernels_->find(name); }
  // Loads PTX, which the driver translates, where nothing is loaded under the name.
  Status load_text(std::string_view name, const char* ptx, const CudaLaunch& launch) const;

  Result<size_t> packed_bytes(std::string_view format, int64_t n, int64_t k) const override;
  // Single-threaded.
  Status pack(std::string_view format, std::span<const Rows> sources, int64_t k,
              std::span<std::byte> out) const override;

  // `what` names the use in errors: "the weights". Errors: kResourceExhausted with the bytes, for the memory
  // of the GPU as for the limit; kDeviceLost.
  Result<DeviceBuffer> allocate(size_t bytes, std::string_view what) const;
  Result<PinnedBuffer> allocate_pinned(size_t bytes, std::string_view what) const;
  // Constants that lie on the device already.
  ConstantTable& constants() const { return constants_; }
  size_t bytes_in_use() const { return bytes_in_use_.load(std::memory_order_relaxed); }

  // A driver call's result as a Status. Errors: kResourceExhausted (out of memory), kDeviceLost for an error
  // after which the context is spoiled: the device is lost then; else kInternal. The message is "<what>:
  // <name of the error> (<text>)".
  Status check(DriverCode code, std::string_view what) const;
  // Errors: kDeviceLost with what lost it, at once.
  Status usable() const;

  // For DeviceBuffer and PinnedBuffer alone.
  void release(DeviceAddress address, size_t bytes) const;
  void release_pinned(std::byte* data) const;

 private:
  friend class CurrentContext;
  CudaDevice() = default;
  Status read_facts(DeviceOrdinal ordinal);

  std::shared_ptr<const Driver> driver_;
  DeviceOrdinal ordinal_ = 0;
  ContextHandle context_ = nullptr;
  CudaDeviceFacts facts_;
  Target target_;
  size_t memory_limit_ = 0;
  int process_ = 0;  // a context does not survive fork()
  mutable std::atomic<size_t> bytes_in_use_{0};
  mutable std::atomic<bool> lost_{false};
  mutable std::mutex lost_mutex_;
  mutable std::string lost_why_;  // written once, before lost_
  std::unique_ptr<CudaKernels> kernels_;
  mutable ConstantTable constants_;
};

}  // namespace edge_infer::cuda
