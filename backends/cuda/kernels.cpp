#include "backends/cuda/kernels.h"

#include "backends/cuda/device.h"
#include "runtime/base/hash.h"

namespace edge_infer::cuda {
namespace {

constexpr int32_t kPortableCluster = 8;

}  // namespace

CudaKernels::~CudaKernels() {
  for (const auto& [name, entry] : entries_) device_.driver().library_unload(entry.library);
}

Result<CudaKernels::Entry> CudaKernels::load_blob(std::string_view name, const KernelBlob& blob) const {
  Result<CudaImage> image = CudaImage::parse(blob);
  if (!image) return fail_with_context(image.error(), std::string(name));
  const int64_t shared = int64_t{image->launch.shared_bytes} + image->static_shared_bytes;
  if (shared > device_.facts().shared_bytes_per_block)
    return fail(ErrorCode::kUnsupported, "{} needs {} bytes of shared memory, {} has {} a block", name,
                shared, device_.facts().name, device_.facts().shared_bytes_per_block);
  EDGE_INFER_ASSIGN(Entry entry, load_image(name, image->launch, image->cubin.data()));
  entry.kernel.registers = image->registers;
  entry.kernel.spill_bytes = image->spill_bytes;
  entry.kernel.code_bytes = image->cubin.size();
  entry.digest = content_digest(blob.image);
  return entry;
}

Result<CudaKernels::Entry> CudaKernels::load_image(std::string_view name, const CudaLaunch& launch,
                                                   const void* image) const {
  const Driver& driver = device_.driver();
  Entry entry;
  entry.kernel.launch = launch;
  const auto check = [&](DriverCode code, const char* what) -> Status {
    if (code == driver_code::kNoBinaryForGpu)
      return fail(ErrorCode::kUnsupported, "{}: code for another GPU: {}", name, driver.describe(code));
    if (code == driver_code::kInvalidImage || code == driver_code::kNotFound)
      return fail(ErrorCode::kCorruption, "{}: {}: {}", name, what, driver.describe(code));
    return device_.check(code, fmt::format("{}: {}", name, what));
  };
  EDGE_INFER_RETURN_IF_ERROR(
      check(driver.library_load_data(&entry.library, image, nullptr, nullptr, 0, nullptr, nullptr, 0),
            "load code"));
  const auto find_function = [&]() -> Status {
    KernelHandle kernel = nullptr;
    FunctionHandle& function = entry.kernel.function;
    EDGE_INFER_RETURN_IF_ERROR(
        check(driver.library_get_kernel(&kernel, entry.library, kKernelSymbol), "find function \"k\""));
    EDGE_INFER_RETURN_IF_ERROR(check(driver.kernel_get_function(&function, kernel), "load function"));
    int threads = 0;
    EDGE_INFER_RETURN_IF_ERROR(check(
        driver.function_get_attribute(&threads, FunctionAttribute::kMaxThreadsPerBlock, function), "ask"));
    if (threads < launch.threads)
      return fail(ErrorCode::kUnsupported, "{} has blocks of {} threads, its code runs with at most {}", name,
                  launch.threads, threads);
    if (launch.shared_bytes > 0)
      EDGE_INFER_RETURN_IF_ERROR(
          check(driver.function_set_attribute(function, FunctionAttribute::kMaxDynamicSharedBytes,
                                              launch.shared_bytes),
                "set shared memory"));
    if (launch.cluster > kPortableCluster)
      EDGE_INFER_RETURN_IF_ERROR(
          check(driver.function_set_attribute(function, FunctionAttribute::kNonPortableClusterAllowed, 1),
                "allow clusters of more than 8"));
    // Else a lazy load would fall into the first replay.
    if (driver.function_load != nullptr)
      EDGE_INFER_RETURN_IF_ERROR(check(driver.function_load(function), "load function"));
    return {};
  };
  if (const Status found = find_function(); !found) {
    driver.library_unload(entry.library);
    return std::unexpected(found.error());
  }
  return entry;
}

Status CudaKernels::load(std::span<const NamedBlob> blobs) {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Entry, std::less<>> fresh;
  const auto load_all = [&]() -> Status {
    for (const NamedBlob& named : blobs) {
      const auto known = entries_.find(named.name);
      const auto twice = fresh.find(named.name);
      const Entry* other = known != entries_.end() ? &known->second
                           : twice != fresh.end()  ? &twice->second
                                                   : nullptr;
      if (other != nullptr) {
        if (other->digest != content_digest(named.blob->image))
          return fail(ErrorCode::kInvalidArgument, "other code is loaded as \"{}\" already", named.name);
        continue;
      }
      EDGE_INFER_ASSIGN(Entry entry, load_blob(named.name, *named.blob));
      fresh.emplace(std::string(named.name), std::move(entry));
    }
    return {};
  };
  const Status loaded = load_all();
  if (loaded) {
    entries_.merge(fresh);
  } else {
    for (const auto& [name, entry] : fresh) device_.driver().library_unload(entry.library);
  }
  return loaded;
}

Status CudaKernels::load_text(std::string_view name, const char* ptx, const CudaLaunch& launch) {
  const std::lock_guard lock(mutex_);
  if (entries_.contains(name)) return {};
  EDGE_INFER_ASSIGN(Entry entry, load_image(name, launch, ptx));
  entries_.emplace(std::string(name), std::move(entry));
  return {};
}

const CudaKernel* CudaKernels::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second.kernel;
}

}  // namespace edge_infer::cuda
