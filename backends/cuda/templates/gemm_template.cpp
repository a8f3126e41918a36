#include "backends/cuda/templates/gemm_template.h"

namespace edge_infer::cuda {

Status accepts_gemm(const loop::LoopNest& /*nest*/, const CudaTarget& target) {
  return fail(ErrorCode::kUnsupported, "slot refused: no gemm template for {}", target.architecture);
}

std::vector<Schedule> gemm_schedules(const loop::LoopNest& /*nest*/, const CudaTarget& /*target*/) {
  return {};
}

Result<GeneratedKernel> generate_gemm(const loop::LoopNest& nest, const Schedule& /*schedule*/,
                                      const CudaTarget& target) {
  return std::unexpected(accepts_gemm(nest, target).error());
}

}  // namespace edge_infer::cuda
