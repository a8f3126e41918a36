// CudaDevice: one GPU behind the Device interface: its facts, memory, loaded kernels and whether it still
// works. Programs run on it through CudaProgram (program.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/device_memory.h"
#include "backends/cuda/driver/driver.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/start_times.h"
#include "backends/cuda/upload_constants.h"
#include "runtime/device/device.h"

namespace edge_infer::cuda {

struct CudaDeviceOptions {
  // Of what stands behind "cuda:" in a device's name: "", "1", "GPU-<uuid>", "memory=2G", "1,memory=512M".
  // Errors: kInvalidArgument.
  static Result<CudaDeviceOptions> parse(std::string_view text);
  // The index that `select` asks for; nothing for a UUID. Errors: kInvalidArgument.
  Result<std::optional<int>> index() const;

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

// Something that keeps memory of a device for later use.
class MemoryHolder {
 public:
  virtual ~MemoryHolder() = default;
  // Gives back what no call uses now.
  virtual void release_idle() const = 0;
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
  Result<std::shared_ptr<const void>> prefetch(const Program& program,
                                               ConstantSource& constants) const override;
  std::string start_report() const override;
  StartTimes& start_times() const { return start_times_; }
  // Name, UUID, compute capability, the driver's CUDA version, and its own where the system tells it.
  std::string measured_on() const override;
  Result<std::vector<Measurement>> measure(const MeasuredCall& call, std::span<const std::string> kernels,
                                           const MeasureOptions& options) const override;
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

  // What to do when memory is not there.
  enum class Scarcity {
    kFail,
    kReclaim,  // have all holders give back what they do not use, and try again
    kWait,     // also when a call that runs now has ended; for callers that hold no memory, in their turn
  };
  // `what` names the use in errors: "the weights". Errors: kResourceExhausted with the GPU's name and the
  // bytes, for the memory of the GPU as for the limit; kDeviceLost.
  Result<DeviceBuffer> allocate(size_t bytes, std::string_view what,
                                Scarcity scarcity = Scarcity::kFail) const;
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

  // A holder that is removed before it is destroyed; release_idle() is not called any more afterwards.
  void add_holder(const MemoryHolder& holder) const;
  void remove_holder(const MemoryHolder& holder) const;
  // Around a call that may hold memory or wait for it.
  void begin_turn() const;
  void end_turn() const;
  // A call waits for memory: what is not used should be given back rather than kept.
  bool is_scarce() const;

  // For DeviceBuffer and PinnedBuffer alone.
  void release(DeviceAddress address, size_t bytes) const;
  void release_pinned(std::byte* data) const;

 private:
  friend class CurrentContext;
  CudaDevice() = default;
  Status read_facts(DeviceOrdinal ordinal);
  void reclaim() const;
  Result<DeviceBuffer> try_allocate(size_t bytes, std::string_view what) const;

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
  mutable std::mutex turns_mutex_;
  mutable std::condition_variable turn_ended_;
  mutable int turns_ = 0, waiting_ = 0;  // calls that have begun, those of them that wait
  mutable uint64_t ended_turns_ = 0;
  mutable std::mutex holders_mutex_;
  mutable std::vector<const MemoryHolder*> holders_;
  std::unique_ptr<CudaKernels> kernels_;
  mutable ConstantTable constants_;
  mutable StartTimes start_times_;
};

}  // namespace edge_infer::cuda
