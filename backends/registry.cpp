// The explicit list of back ends of this build.
#include "runtime/device/registry.h"

#include <array>

#include "backends/cpu/device.h"

namespace edge_infer {
namespace {

Result<std::shared_ptr<const Device>> open_cpu() { return std::make_shared<CpuDevice>(); }

constexpr std::array kBackends = {BackendInfo{"cpu", open_cpu}};

}  // namespace

std::span<const BackendInfo> backends() { return kBackends; }

}  // namespace edge_infer
