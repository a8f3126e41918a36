// CudaDevice::open: which GPU, and what it is.
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>

#include "backends/cuda/device.h"
#include "backends/cuda/target.h"

namespace edge_infer::cuda {
namespace {

constexpr int kProgrammaticMajor = 9;  // compute capability with griddepcontrol

std::string uuid_text(const DeviceUuid& uuid) {
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

std::unexpected<Error> no_device(const Driver& driver, DriverCode code) {
  return fail(ErrorCode::kUnsupported, "no CUDA device: {}", driver.describe(code));
}

Result<DeviceOrdinal> choose(const Driver& driver, std::string_view select, std::optional<int> index) {
  int count = 0;
  if (const DriverCode code = driver.device_get_count(&count); code != driver_code::kSuccess)
    return no_device(driver, code);
  DeviceOrdinal found = -1;
  for (int i = 0; i < count; ++i) {
    DeviceOrdinal ordinal = 0;
    DeviceUuid uuid{};
    if (const DriverCode code = driver.device_get(&ordinal, i); code != driver_code::kSuccess)
      return no_device(driver, code);
    if (index) {
      if (i == *index) return ordinal;
      continue;
    }
    if (driver.device_get_uuid(&uuid, ordinal) != driver_code::kSuccess) continue;
    if (!uuid_text(uuid).starts_with(select)) continue;
    if (found >= 0) return fail(ErrorCode::kInvalidArgument, "CUDA device \"{}\" fits several GPUs", select);
    found = ordinal;
  }
  if (found < 0)
    return fail(ErrorCode::kUnsupported, "no CUDA device: \"{}\" is none of the {} that the driver finds",
                select, count);
  return found;
}

}  // namespace

Status CudaDevice::read_facts(DeviceOrdinal ordinal) {
  const Driver& d = *driver_;
  const auto bad = [&](DriverCode code) { return no_device(d, code); };
  char name[128] = {};
  if (const DriverCode code = d.device_get_name(name, sizeof(name) - 1, ordinal)) return bad(code);
  facts_.name = name;
  DeviceUuid uuid{};
  if (const DriverCode code = d.device_get_uuid(&uuid, ordinal)) return bad(code);
  facts_.uuid = uuid_text(uuid);
  if (const DriverCode code = d.device_total_mem(&facts_.memory_bytes, ordinal)) return bad(code);
  int shared = 0, l2 = 0, maps_host = 0;
  const std::pair<DeviceAttribute, int*> attributes[] = {
      {DeviceAttribute::kComputeCapabilityMajor, &facts_.major},
      {DeviceAttribute::kComputeCapabilityMinor, &facts_.minor},
      {DeviceAttribute::kMultiprocessorCount, &facts_.multiprocessors},
      {DeviceAttribute::kMaxSharedBytesPerBlock, &shared},
      {DeviceAttribute::kL2CacheBytes, &l2},
      {DeviceAttribute::kCanMapHostMemory, &maps_host}};
  for (const auto& [attribute, value] : attributes)
    if (const DriverCode code = d.device_get_attribute(value, attribute, ordinal)) return bad(code);
  if (maps_host == 0)
    return fail(ErrorCode::kUnsupported, "no CUDA device: {} does not see the host's memory", facts_.name);
  // Only for reports: a driver that no longer tells them is as good.
  const std::pair<DeviceAttribute, int*> speeds[] = {
      {DeviceAttribute::kClockKilohertz, &facts_.clock_kilohertz},
      {DeviceAttribute::kMemoryClockKilohertz, &facts_.memory_clock_kilohertz},
      {DeviceAttribute::kMemoryBusBits, &facts_.memory_bus_bits}};
  for (const auto& [attribute, value] : speeds)
    if (d.device_get_attribute(value, attribute, ordinal) != driver_code::kSuccess) *value = 0;
  facts_.shared_bytes_per_block = shared;
  facts_.l2_bytes = l2;
  facts_.index = ordinal;
  facts_.driver_version = d.version;
  facts_.programmatic_launch = facts_.major >= kProgrammaticMajor && d.graph_add_dependencies != nullptr;
  return {};
}

Result<std::shared_ptr<const CudaDevice>> CudaDevice::open(const CudaDeviceOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  EDGE_INFER_ASSIGN(const std::optional<int> index, options.index());
  EDGE_INFER_ASSIGN(std::shared_ptr<const Driver> driver, Driver::open());
  EDGE_INFER_ASSIGN(const DeviceOrdinal ordinal, choose(*driver, options.select, index));
  const std::shared_ptr<CudaDevice> device(new CudaDevice);
  device->driver_ = std::move(driver);
  device->ordinal_ = ordinal;
  device->process_ = ::getpid();
  device->memory_limit_ = options.memory_limit;
  EDGE_INFER_RETURN_IF_ERROR(device->read_facts(ordinal));
  const CudaDeviceFacts& facts = device->facts_;
  Result<std::string_view> variant = variant_of(facts.major, facts.minor);
  if (!variant)
    return fail(ErrorCode::kUnsupported, "no CUDA device: {} has {}", facts.name, variant.error().message);
  if (!options.variant.empty()) {
    if (!variant_runs_on(options.variant, facts.major, facts.minor))
      return fail(ErrorCode::kUnsupported, "no CUDA device: {} of compute capability {}.{} runs no {}",
                  facts.name, facts.major, facts.minor, options.variant);
    *variant = options.variant;
  }
  device->target_ = cuda_target(*variant);
  const DriverCode code = device->driver_->primary_context_retain(&device->context_, ordinal);
  if (code != driver_code::kSuccess)
    return fail(ErrorCode::kUnsupported, "no CUDA device: {}: {}", facts.name,
                device->driver_->describe(code));
  device->start_times_.add(StartTimes::kContext, std::chrono::steady_clock::now() - begin);
  device->kernels_ = std::make_unique<CudaKernels>(*device);
  return device;
}

}  // namespace edge_infer::cuda
