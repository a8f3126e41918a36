#include "backends/cpu/codegen/cpu_code_generator.h"

#include <algorithm>

#include "backends/cpu/codegen/check_supported.h"
#include "backends/cpu/codegen/embedded_sources.h"
#include "backends/cpu/codegen/kernel_text.h"
#include "backends/cpu/templates/gemm_bf16_schedule.h"
#include "compiler/codegen/row_cost.h"

namespace edge_infer {

using cpu_codegen::KernelText;

namespace {

std::string joined(std::vector<std::string_view> names) {
  std::ranges::sort(names);
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ',';
    text += name;
  }
  return text;
}

}  // namespace

Result<CpuCodeGenerator> CpuCodeGenerator::for_target(std::string_view target, const CpuFeatures& cpu) {
  // LLVM's names of what each target takes for granted; CpuFeatures probes no finer.
  std::vector<std::string_view> features;
  GemmClass bf16 = GemmClass::kBF16F32;
  if (target == "cpu.portable") return CpuCodeGenerator(std::string(target), "", bf16, 16, false);
  if (target != "cpu.avx2" && target != "cpu.avx512")
    return fail(ErrorCode::kInvalidArgument,
                "no target \"{}\"; there are cpu.portable, cpu.avx2 and cpu.avx512", target);
  features = {"avx", "avx2", "f16c", "fma"};
  if (target == "cpu.avx2") return CpuCodeGenerator(std::string(target), joined(features), bf16, 16, true);
  features.insert(features.end(), {"avx512bw", "avx512dq", "avx512f", "avx512vl"});
  if (cpu.avx512_bf16) {
    features.push_back("avx512bf16");
    bf16 = GemmClass::kBF16Dp2;
  }
  if (cpu.amx_bf16) bf16 = GemmClass::kBF16Amx;
  if (cpu.avx512_vnni) features.push_back("avx512vnni");
  return CpuCodeGenerator(std::string(target), joined(features), bf16, 32, true);
}

CpuCodeGenerator CpuCodeGenerator::for_this_cpu() {
  CpuFeatures cpu = cpu_features();
  cpu.amx_bf16 = cpu.amx_bf16 && request_amx();
  return *for_target(std::string("cpu.") + best_isa(), cpu);
}

std::string CpuCodeGenerator::version() const {
  return fmt::format("cpu-c-{}", cpu_codegen::embedded::digest());
}

std::string CpuCodeGenerator::packed_format(DType dtype) const {
  if (dtype == DType::kF32) return gemm_packed_format(GemmClass::kF32, panel_);
  return dtype == DType::kBF16 ? gemm_packed_format(bf16_class_, panel_) : "";
}

std::string CpuCodeGenerator::accumulation_class(DType dtype) const {
  if (dtype == DType::kF32) return std::string(gemm_class_name(GemmClass::kF32));
  return dtype == DType::kBF16 ? std::string(gemm_class_name(bf16_class_)) : "";
}

DType CpuCodeGenerator::fastest_precision() const {
  // Pair products are as slow as two fma on some processors that have them: not known to gain.
  return bf16_class_ == GemmClass::kBF16Amx ? DType::kBF16 : DType::kF32;
}

GemmProblem CpuCodeGenerator::problem(const loop::LoopNest& nest) const {
  return cpu_codegen::gemm_problem(nest, panel_, fused_multiply_add_, bf16_class_);
}

Status CpuCodeGenerator::accepts(const loop::LoopNest& nest) const {
  return cpu_codegen::check_supported(nest, gemm_class_name(bf16_class_));
}

std::vector<Schedule> CpuCodeGenerator::candidates(const loop::LoopNest& nest) const {
  if (!accepts(nest) || cpu_codegen::gemm_parts(nest).gemm == nullptr) return {""};
  std::vector<Schedule> schedules;
  for (const GemmSchedule& schedule : gemm_schedules(problem(nest))) schedules.push_back(schedule.text());
  return schedules;
}

Result<GeneratedKernel> CpuCodeGenerator::generate(const loop::LoopNest& nest,
                                                   const Schedule& schedule) const {
  EDGE_INFER_RETURN_IF_ERROR(accepts(nest));
  const codegen::RowCost cost = codegen::row_cost(nest);
  GeneratedKernel kernel{.flops_per_row = cost.flops, .bytes_per_row = cost.bytes};
  KernelText text;
  bool uses_amx = false;
  if (cpu_codegen::gemm_parts(nest).gemm != nullptr) {
    const GemmProblem problem = this->problem(nest);
    EDGE_INFER_ASSIGN(const GemmSchedule tiles, parse_gemm_schedule(schedule, problem));
    text = cpu_codegen::gemm_kernel(nest, problem, tiles);
    uses_amx = problem.accumulation == GemmClass::kBF16Amx;
    kernel.row_grain = tiles.tile_rows;
    kernel.splits_columns = nest.split_columns() >= 0 && !problem.whole_rows;
    kernel.column_grain = kernel.splits_columns ? panel_ : 1;
  } else {
    if (!schedule.empty())
      return fail(ErrorCode::kInvalidArgument, "schedule \"{}\" of a nest without a gemm, expected none",
                  schedule);
    if (cpu_codegen::attention_of(nest) != nullptr) {
      text = cpu_codegen::attention_kernel(nest);
    } else {
      text = cpu_codegen::plain_kernel(nest);
      kernel.splits_columns = cpu_codegen::splits_columns(nest);
      kernel.column_grain = kernel.splits_columns ? 16 : 1;
      kernel.row_grain = cpu_codegen::work_in_lanes(nest) ? 16 : 1;
    }
  }
  kernel.source = {.source = std::move(text.source),
                   .target = target_,
                   .features = uses_amx ? "amx-bf16,amx-tile," + features_ : features_,
                   .scratch_bytes = static_cast<uint64_t>(text.scratch_bytes)};
  return kernel;
}

}  // namespace edge_infer
