#include "backends/cuda/codegen/cuda_target.h"

#include <algorithm>

namespace edge_infer::cuda {
namespace {

struct Facts {
  std::string_view architecture;
  int capability, shared_bytes, threads_per_sm;
};
constexpr Facts kTargets[] = {
    {"sm_80", 80, 166'912, 2'048},   {"sm_86", 86, 101'376, 1'536},  {"sm_89", 89, 101'376, 1'536},
    {"sm_90", 90, 232'448, 2'048},   {"sm_90a", 90, 232'448, 2'048}, {"sm_100", 100, 232'448, 2'048},
    {"sm_120", 120, 101'376, 1'536},
};
constexpr std::string_view kPrefix = "cuda.";

}  // namespace

Result<CudaTarget> CudaTarget::of(std::string_view name) {
  const auto* found = std::ranges::find_if(kTargets, [&](const Facts& facts) {
    return name.starts_with(kPrefix) && name.substr(kPrefix.size()) == facts.architecture;
  });
  if (found == std::end(kTargets))
    return fail(ErrorCode::kInvalidArgument,
                "no target \"{}\"; there are cuda.sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100 and sm_120",
                name);
  const bool wgmma = found->architecture == "sm_90a";
  return CudaTarget{.name = std::string(name),
                    .architecture = std::string(found->architecture),
                    .capability = found->capability,
                    .has_wgmma = wgmma,
                    .has_tma = found->capability >= 90,
                    .has_pdl = found->capability >= 90,
                    .shared_bytes = found->shared_bytes,
                    .threads_per_sm = found->threads_per_sm,
                    .gemm_class = wgmma ? "wgmma.k16" : "mma.k16"};
}

}  // namespace edge_infer::cuda
