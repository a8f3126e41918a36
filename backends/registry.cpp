// The explicit list of back ends of this build.
#include "runtime/device/registry.h"

#include <array>

#include "backends/cpu/device.h"
#include "backends/cuda/device.h"
#include "backends/cuda/facts.h"
#include "backends/cuda/target.h"

namespace edge_infer {
namespace {

constexpr std::array<std::string_view, 3> kCpuVariants = {"portable", "avx2", "avx512"};
constexpr std::array<std::string_view, 7> kCudaVariants = {"sm_80",  "sm_86",  "sm_89", "sm_90",
                                                           "sm_90a", "sm_100", "sm_120"};

Isa cpu_isa(std::string_view variant) {
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
    if (isa_name(isa) == variant) return isa;
  return selected_isa();
}

Result<std::shared_ptr<const Device>> open_cpu(std::string_view variant, std::string_view) {
  const Isa isa = cpu_isa(variant);
  if (!isa_runs_here(isa))
    return fail(ErrorCode::kUnsupported, "this processor cannot run cpu.{}", isa_name(isa));
  return std::make_shared<CpuDevice>(isa);
}

Target cpu_target(std::string_view variant) {
  return CpuDevice(cpu_isa(variant)).target();
}

Result<CodeFacts> cpu_code_facts(const KernelBlob& code) {
  return CodeFacts{{"code_bytes", fmt::format("{}", code.image.size())},
                   {"scratch_bytes", fmt::format("{}", code.scratch_bytes)}};
}

Result<std::shared_ptr<const Device>> open_cuda(std::string_view variant, std::string_view which) {
  EDGE_INFER_ASSIGN(cuda::CudaDeviceOptions options, cuda::CudaDeviceOptions::parse(which));
  options.variant = variant;
  return cuda::CudaDevice::open(options);
}

Status check_cuda(std::string_view which) {
  EDGE_INFER_RETURN_IF_ERROR(cuda::CudaDeviceOptions::parse(which));
  return {};
}

constexpr std::array kBackends = {
    BackendInfo{"cuda", kCudaVariants, true, open_cuda, cuda::cuda_target, cuda::code_facts,
                cuda::program_facts, check_cuda},
    BackendInfo{"cpu", kCpuVariants, false, open_cpu, cpu_target, cpu_code_facts, nullptr},
};

}  // namespace

std::span<const BackendInfo> backends() {
  return kBackends;
}

}  // namespace edge_infer
