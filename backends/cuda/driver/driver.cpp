#include "backends/cuda/driver/driver.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

namespace edge_infer::cuda {
namespace {

using GetProcAddress = DriverCode (*)(const char* name, void** function, int version, uint64_t flags,
                                      int* status);
using DriverGetVersion = DriverCode (*)(int* version);

template <typename... Args>
std::unexpected<Error> no_device(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kUnsupported, "no CUDA device: {}",
              fmt::format(format, std::forward<Args>(args)...));
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

template <typename Function>
void assign(Function& function, void* address) {
  function = reinterpret_cast<Function>(address);
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::open() {
  const char* chosen = std::getenv("EDGE_INFER_LIBCUDA");
  const std::string path = chosen != nullptr && *chosen != '\0' ? chosen : "libcuda.so.1";
  if (path != "libcuda.so.1" && !path.starts_with('/'))
    return no_device("EDGE_INFER_LIBCUDA is \"{}\", expected a full path", path);
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return no_device("{}", why != nullptr ? why : path.c_str());
  }
  // It runs threads of its own, so it is never unloaded.
  DriverGetVersion get_version = nullptr;
  assign(get_version, ::dlsym(library, "cuDriverGetVersion"));
  auto driver = std::make_shared<Driver>();
  if (get_version == nullptr || get_version(&driver->version) != driver_code::kSuccess)
    return no_device("{} does not tell its version", path);
  if (driver->version < kOldestVersion)
    return no_device("the driver serves CUDA {}, expected {} or newer", version_text(driver->version),
                     version_text(kOldestVersion));
  GetProcAddress get = nullptr;
  assign(get, ::dlsym(library, "cuGetProcAddress_v2"));
  if (get == nullptr) return no_device("{} lacks cuGetProcAddress_v2", path);
  const auto find = [&](const char* name, int version) -> void* {
    void* address = nullptr;
    int status = 0;
    if (get(name, &address, version, 0, &status) != driver_code::kSuccess || status != 0) return nullptr;
    return address;
  };
#define EDGE_INFER_CUDA_FIND(member, name, api_version, parameters) \
  assign(driver->member, find(#name, api_version));                 \
  if (driver->member == nullptr)                                    \
    return no_device("{} for CUDA {} lacks {}", path, version_text(driver->version), #name);
  EDGE_INFER_CUDA_REQUIRED(EDGE_INFER_CUDA_FIND)
#undef EDGE_INFER_CUDA_FIND
#define EDGE_INFER_CUDA_TRY(member, name, api_version, parameters) \
  if (driver->version >= api_version) assign(driver->member, find(#name, api_version));
  EDGE_INFER_CUDA_OPTIONAL(EDGE_INFER_CUDA_TRY)
#undef EDGE_INFER_CUDA_TRY
  if (const DriverCode code = driver->init(0); code != driver_code::kSuccess)
    return no_device("{}", driver->describe(code));
  int count = 0;
  if (const DriverCode code = driver->device_get_count(&count); code != driver_code::kSuccess)
    return no_device("{}", driver->describe(code));
  if (count == 0) return no_device("the driver finds none");
  return driver;
}

std::string Driver::describe(DriverCode code) const {
  const char *name = nullptr, *text = nullptr;
  if (get_error_name(code, &name) != driver_code::kSuccess || name == nullptr)
    return fmt::format("CUDA error {}", code);
  if (get_error_string(code, &text) != driver_code::kSuccess || text == nullptr) return name;
  return fmt::format("{} ({})", name, text);
}

bool is_sticky(DriverCode code) {
  using namespace driver_code;
  if (code >= kHardwareStackError && code <= kLaunchFailed) return true;
  constexpr std::array kOthers = {kDeinitialized, kDeviceUnavailable, kEccUncorrectable, kNvlinkUncorrectable,
                                  kContained,     kIllegalAddress,    kLaunchTimeout,    kContextIsDestroyed,
                                  kAssert,        kTensorMemoryLeak,  kUnknown};
  for (const DriverCode other : kOthers)
    if (code == other) return true;
  return false;
}

}  // namespace edge_infer::cuda
