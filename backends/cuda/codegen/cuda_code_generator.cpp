#include "backends/cuda/codegen/cuda_code_generator.h"

#include <fmt/format.h>

#include <variant>

#include "backends/cuda/codegen/embedded_sources.h"
#include "backends/cuda/codegen/plain_kernel.h"
#include "backends/cuda/templates/attention_template.h"
#include "backends/cuda/templates/gemm_f32.h"
#include "backends/cuda/templates/gemm_schedule.h"
#include "backends/cuda/templates/gemm_template.h"
#include "compiler/codegen/row_cost.h"

namespace edge_infer::cuda {
namespace {

enum class Family { kPlain, kGemm, kGemmF32, kAttention };

Family family_of(const loop::LoopNest& nest) {
  const auto* rows = nest.body.size() == 1 ? std::get_if<loop::For>(&nest.body.front().node) : nullptr;
  if (rows == nullptr) return Family::kPlain;
  for (const loop::Stmt& stmt : rows->body) {
    if (std::holds_alternative<loop::Attention>(stmt.node)) return Family::kAttention;
    if (const auto* gemm = std::get_if<loop::Gemm>(&stmt.node))
      return nest.buffers[static_cast<size_t>(gemm->weight)].dtype == DType::kF32 ? Family::kGemmF32
                                                                                  : Family::kGemm;
  }
  return Family::kPlain;
}

}  // namespace

Result<CudaCodeGenerator> CudaCodeGenerator::for_target(std::string_view name) {
  EDGE_INFER_ASSIGN(CudaTarget target, CudaTarget::of(name));
  return CudaCodeGenerator(std::move(target));
}

std::string CudaCodeGenerator::version() const {
  return fmt::format("cuda-{}", generator_digest());
}

std::string CudaCodeGenerator::packed_format(DType dtype) const {
  const bool known = dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32;
  return known ? fmt::format("nk.{}", dtype_name(dtype)) : "";
}

std::string CudaCodeGenerator::accumulation_class(DType dtype) const {
  if (dtype == DType::kF32) return "f32.k1";
  return dtype == DType::kF16 || dtype == DType::kBF16 ? std::string(target_.gemm_class) : "";
}

Status CudaCodeGenerator::accepts(const loop::LoopNest& nest) const {
  switch (family_of(nest)) {
    case Family::kGemm:
      return accepts_gemm(nest, target_);
    case Family::kGemmF32:
      return accepts_gemm_f32(nest);
    case Family::kAttention:
      return accepts_attention(nest, target_);
    case Family::kPlain:
      break;
  }
  return accepts_plain(nest, target_);
}

std::vector<int64_t> CudaCodeGenerator::row_classes() const {
  return gemm_row_classes(target_);
}

Schedule CudaCodeGenerator::schedule_for(const loop::LoopNest& nest, int64_t rows) const {
  return family_of(nest) == Family::kGemm ? gemm_schedule_for(nest, rows, target_) : Schedule();
}

std::vector<Schedule> CudaCodeGenerator::candidates(const loop::LoopNest& nest) const {
  const Family family = family_of(nest);
  if (!accepts(nest) || family == Family::kPlain || family == Family::kGemmF32) return {""};
  return family == Family::kGemm ? gemm_schedules(nest, target_) : attention_schedules(nest, target_);
}

std::vector<Schedule> CudaCodeGenerator::candidates_for(const loop::LoopNest& nest, int64_t rows) const {
  return family_of(nest) == Family::kGemm ? gemm_schedules(nest, target_, rows) : candidates(nest);
}

Result<GeneratedKernel> CudaCodeGenerator::generate(const loop::LoopNest& nest,
                                                    const Schedule& schedule) const {
  EDGE_INFER_RETURN_IF_ERROR(accepts(nest));
  const Family family = family_of(nest);
  if (family == Family::kGemm) return generate_gemm(nest, schedule, target_);
  if (family == Family::kAttention) return generate_attention(nest, schedule, target_);
  if (!schedule.empty())
    return fail(ErrorCode::kInvalidArgument, "schedule \"{}\" of a nest that has no choice, expected none",
                schedule);
  const codegen::RowCost cost = codegen::row_cost(nest);
  GeneratedKernel kernel{
      .splits_columns = nest.split_columns() >= 0, .flops_per_row = cost.flops, .bytes_per_row = cost.bytes};
  kernel.source.target = target_.name;
  if (family == Family::kGemmF32) {
    kernel.source.source = gemm_f32_kernel(nest, target_);
  } else {
    EDGE_INFER_ASSIGN(kernel.source.source, plain_kernel(nest, target_));
  }
  return kernel;
}

}  // namespace edge_infer::cuda
