#include "backends/cuda/kernels.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "backends/cuda/device.h"
#include "runtime/base/hash.h"
#include "runtime/executor/team.h"

namespace edge_infer::cuda {
namespace {

constexpr int32_t kPortableCluster = 8;
// Threads that load code at a time; the driver does part of it under a lock.
constexpr size_t kLoaders = 4, kKernelsPerLoader = 4;

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

size_t CudaKernels::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

Status CudaKernels::load(std::span<const NamedBlob> blobs) {
  const std::lock_guard lock(mutex_);
  // Each name once, with its digest.
  std::map<std::string_view, std::pair<const KernelBlob*, std::string>> wanted;
  for (const NamedBlob& named : blobs) {
    std::string digest = content_digest(named.blob->image);
    const auto known = entries_.find(named.name);
    const auto twice = wanted.find(named.name);
    const std::string* other = known != entries_.end() ? &known->second.digest
                               : twice != wanted.end() ? &twice->second.second
                                                       : nullptr;
    if (other != nullptr && *other != digest)
      return fail(ErrorCode::kInvalidArgument, "other code is loaded as \"{}\" already", named.name);
    if (other == nullptr) wanted.emplace(named.name, std::pair(named.blob, std::move(digest)));
  }
  struct Job {
    std::string_view name;
    const KernelBlob* blob;
    std::string digest;
    Result<Entry> entry = Entry();
  };
  std::vector<Job> jobs;
  for (auto& [name, blob] : wanted) jobs.push_back({name, blob.first, std::move(blob.second)});
  std::atomic<size_t> next{0};
  auto body = [&](int) {
    const CurrentContext current(device_);
    for (size_t i = next.fetch_add(1); i < jobs.size(); i = next.fetch_add(1))
      jobs[i].entry = load_blob(jobs[i].name, *jobs[i].blob);
  };
  const WorkerShare share(static_cast<int>(std::clamp<size_t>(jobs.size() / kKernelsPerLoader, 1, kLoaders)));
  run_team(share.workers(), body);
  const auto failed = std::ranges::find_if(jobs, [](const Job& job) { return !job.entry; });
  for (Job& job : jobs) {
    if (!job.entry) continue;
    job.entry->digest = std::move(job.digest);
    if (failed == jobs.end())
      entries_.emplace(std::string(job.name), *std::move(job.entry));
    else
      device_.driver().library_unload(job.entry->library);
  }
  if (failed != jobs.end()) return std::unexpected(failed->entry.error());
  return {};
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
