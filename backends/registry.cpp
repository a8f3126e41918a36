// The explicit list of back ends of this build.
#include "runtime/device/registry.h"

#include <array>

#include "backends/cpu/device.h"

namespace edge_infer {
namespace {

constexpr std::array<std::string_view, 3> kCpuVariants = {"portable", "avx2", "avx512"};

Isa cpu_isa(std::string_view variant) {
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
    if (isa_name(isa) == variant) return isa;
  return selected_isa();
}

Result<std::shared_ptr<const Device>> open_cpu(std::string_view variant) {
  const Isa isa = cpu_isa(variant);
  if (!isa_runs_here(isa))
    return fail(ErrorCode::kUnsupported, "this processor cannot run cpu.{}", isa_name(isa));
  return std::make_shared<CpuDevice>(isa);
}

Target cpu_target(std::string_view variant) {
  return CpuDevice(cpu_isa(variant)).target();
}

constexpr std::array kBackends = {BackendInfo{"cpu", kCpuVariants, open_cpu, cpu_target}};

}  // namespace

std::span<const BackendInfo> backends() {
  return kBackends;
}

}  // namespace edge_infer
