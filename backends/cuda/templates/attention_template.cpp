#include "backends/cuda/templates/attention_template.h"

namespace edge_infer::cuda {

Status accepts_attention(const loop::LoopNest& /*nest*/, const CudaTarget& target) {
  return fail(ErrorCode::kUnsupported, "slot refused: no attention template for {}", target.architecture);
}

std::vector<Schedule> attention_schedules(const loop::LoopNest& /*nest*/, const CudaTarget& /*target*/) {
  return {};
}

Result<GeneratedKernel> generate_attention(const loop::LoopNest& nest, const Schedule& /*schedule*/,
                                           const CudaTarget& target) {
  return std::unexpected(accepts_attention(nest, target).error());
}

}  // namespace edge_infer::cuda
