#include "backends/cuda/device.h"

#include <unistd.h>

#include <limits>

#include "backends/cuda/pack_rows.h"
#include "backends/cuda/program.h"
#include "backends/cuda/target.h"
#include "runtime/base/log.h"

namespace edge_infer::cuda {

CurrentContext::CurrentContext(const CudaDevice& device)
    : device_(device), pushed_(device.driver_->context_push(device.context_) == driver_code::kSuccess) {}

CurrentContext::~CurrentContext() {
  if (!pushed_) return;
  ContextHandle own = nullptr;
  device_.driver_->context_pop(&own);
}

CudaDevice::~CudaDevice() {
  if (context_ == nullptr) return;
  if (process_ != ::getpid()) {
    static_cast<void>(kernels_.release());
    return;
  }
  {
    const CurrentContext current(*this);
    kernels_.reset();
  }
  driver_->primary_context_release(ordinal_);
}

Result<LoadedKernel> CudaDevice::load_kernel(std::string_view name) const {
  if (kernels_->find(name) != nullptr) return LoadedKernel{};
  return fail(ErrorCode::kNotFound, "{} has no code loaded as \"{}\"", target_.name, name);
}

Result<std::vector<LoadedKernel>> CudaDevice::load_code(std::span<const NamedBlob> blobs) const {
  for (const NamedBlob& named : blobs)
    if (!named.name.starts_with("kernel:") && !named.name.starts_with("prebuilt:cuda."))
      return fail(ErrorCode::kInvalidArgument,
                  "compiled code named \"{}\", expected \"kernel:<id>\" or \"prebuilt:cuda.<name>\"",
                  named.name);
  EDGE_INFER_RETURN_IF_ERROR(usable());
  const CurrentContext current(*this);
  EDGE_INFER_RETURN_IF_ERROR(kernels_->load(blobs));
  return std::vector<LoadedKernel>(blobs.size());
}

Status CudaDevice::load_text(std::string_view name, const char* ptx, const CudaLaunch& launch) const {
  EDGE_INFER_RETURN_IF_ERROR(usable());
  const CurrentContext current(*this);
  return kernels_->load_text(name, ptx, launch);
}

Result<std::unique_ptr<Executable>> CudaDevice::bind(Program program, ConstantSource& constants) const {
  return CudaProgram::bind(std::move(program), shared_from_this(), constants);
}

Result<size_t> CudaDevice::packed_bytes(std::string_view format, int64_t n, int64_t k) const {
  EDGE_INFER_ASSIGN(const DType type, packed_type(format));
  if (n < 0 || k < 0) return fail(ErrorCode::kInvalidArgument, "a weight of {} x {} elements", n, k);
  const int64_t limit = std::numeric_limits<int64_t>::max() / dtype_size(type);
  if (k != 0 && n > limit / k)
    return fail(ErrorCode::kResourceExhausted, "a weight of {} x {} elements does not fit into memory", n, k);
  return static_cast<size_t>(n * k * dtype_size(type));
}

Status CudaDevice::pack(std::string_view format, std::span<const Rows> sources, int64_t k,
                        std::span<std::byte> out) const {
  int64_t n = 0;
  for (const Rows& source : sources) {
    if (source.rows < 0 || source.rows > std::numeric_limits<int64_t>::max() - n)
      return fail(ErrorCode::kInvalidArgument, "a source of {} rows", source.rows);
    n += source.rows;
  }
  EDGE_INFER_ASSIGN(const size_t bytes, packed_bytes(format, n, k));
  if (out.size() != bytes)
    return fail(ErrorCode::kInvalidArgument, "{} bytes to pack {} x {} into, expected {}", out.size(), n, k,
                bytes);
  EDGE_INFER_ASSIGN(const DType type, packed_type(format));
  return pack_rows(type, sources, k, out);
}

Result<DeviceBuffer> CudaDevice::allocate(size_t bytes, std::string_view what) const {
  EDGE_INFER_RETURN_IF_ERROR(usable());
  if (bytes == 0) return DeviceBuffer();
  const size_t before = bytes_in_use_.fetch_add(bytes);
  if (memory_limit_ != 0 && (bytes > memory_limit_ || before > memory_limit_ - bytes)) {
    bytes_in_use_.fetch_sub(bytes);
    return fail(ErrorCode::kResourceExhausted,
                "{} bytes of GPU memory for {}: {} are in use and the limit is {}", bytes, what, before,
                memory_limit_);
  }
  const CurrentContext current(*this);
  DeviceAddress address = 0;
  const DriverCode code = driver_->mem_alloc(&address, bytes);
  if (code == driver_code::kSuccess) return DeviceBuffer(this, address, bytes);
  bytes_in_use_.fetch_sub(bytes);
  if (code != driver_code::kOutOfMemory)
    return std::unexpected(check(code, fmt::format("get {} bytes for {}", bytes, what)).error());
  size_t free = 0, total = 0;
  driver_->mem_get_info(&free, &total);
  return fail(ErrorCode::kResourceExhausted, "{} bytes of GPU memory for {}: {}; {} of {} bytes are free",
              bytes, what, driver_->describe(code), free, total);
}

Result<PinnedBuffer> CudaDevice::allocate_pinned(size_t bytes, std::string_view what) const {
  EDGE_INFER_RETURN_IF_ERROR(usable());
  if (bytes == 0) return PinnedBuffer();
  const CurrentContext current(*this);
  void* data = nullptr;
  const std::string doing = fmt::format("get {} bytes of pinned memory for {}", bytes, what);
  EDGE_INFER_RETURN_IF_ERROR(
      check(driver_->mem_host_alloc(&data, bytes, kHostAllocPortable | kHostAllocDeviceMap), doing));
  DeviceAddress address = 0;
  const Status mapped = check(driver_->mem_host_get_device_pointer(&address, data, 0), doing);
  PinnedBuffer buffer(this, static_cast<std::byte*>(data), address, bytes);
  if (!mapped) return std::unexpected(mapped.error());
  return buffer;
}

Status CudaDevice::check(DriverCode code, std::string_view what) const {
  if (code == driver_code::kSuccess) return {};
  const std::string text = fmt::format("{}: {}", what, driver_->describe(code));
  if (is_sticky(code)) {
    const std::lock_guard lock(lost_mutex_);
    if (!lost_.load(std::memory_order_relaxed)) {
      lost_why_ = text;
      lost_.store(true, std::memory_order_release);
      log_warning("{} is lost: {}", facts_.name, text);
    }
    return fail(ErrorCode::kDeviceLost, "{} is lost: {}", facts_.name, text);
  }
  return fail(code == driver_code::kOutOfMemory ? ErrorCode::kResourceExhausted : ErrorCode::kInternal, "{}",
              text);
}

DevicePeak CudaDevice::peak() const {
  const ClockRates rates = clock_rates(facts_.major, facts_.minor);
  const double clocks = 1e3 * facts_.clock_kilohertz * facts_.multiprocessors;
  // Two transfers in a clock of the memory.
  return {.flops = clocks * rates.flops,
          .half_flops = clocks * rates.half_flops,
          .bytes = 2e3 * facts_.memory_clock_kilohertz * facts_.memory_bus_bits / 8};
}

Status CudaDevice::usable() const {
  if (process_ != ::getpid())
    return fail(ErrorCode::kDeviceLost, "{} was opened by another process; a forked one cannot use it",
                facts_.name);
  if (lost_.load(std::memory_order_acquire))
    return fail(ErrorCode::kDeviceLost, "{} is lost: {}", facts_.name, lost_why_);
  return {};
}

void CudaDevice::release(DeviceAddress address, size_t bytes) const {
  bytes_in_use_.fetch_sub(bytes);
  if (process_ != ::getpid()) return;
  const CurrentContext current(*this);
  driver_->mem_free(address);
}

void CudaDevice::release_pinned(std::byte* data) const {
  if (process_ != ::getpid()) return;
  const CurrentContext current(*this);
  driver_->mem_free_host(data);
}

DeviceBuffer::~DeviceBuffer() {
  if (device_ != nullptr && bytes_ != 0) device_->release(address_, bytes_);
}

PinnedBuffer::~PinnedBuffer() {
  if (device_ != nullptr && data_ != nullptr) device_->release_pinned(data_);
}

}  // namespace edge_infer::cuda
