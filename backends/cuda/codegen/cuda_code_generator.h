// The CUDA back end's CodeGenerator: nests as header-free CUDA C++ for one compute capability.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/codegen/cuda_target.h"
#include "compiler/codegen/code_generator.h"

namespace edge_infer::cuda {

class CudaCodeGenerator final : public CodeGenerator {
 public:
  // Targets as CudaTarget::of(). Errors: kInvalidArgument.
  static Result<CudaCodeGenerator> for_target(std::string_view target);

  std::string version() const override;
  std::string target() const override { return target_.name; }
  std::string features() const override { return {}; }
  // "nk.f16", "nk.bf16", "nk.f32": rows of K elements of the type, N of them.
  std::string packed_format(DType dtype) const override;
  // "wgmma.k16" or "mma.k16" of f16 and bf16; "f32.k1" of f32.
  std::string accumulation_class(DType dtype) const override;
  DType fastest_precision() const override { return DType::kF16; }
  Status accepts(const loop::LoopNest& nest) const override;
  Result<GeneratedKernel> generate(const loop::LoopNest& nest, const Schedule& schedule) const override;
  std::vector<int64_t> row_classes() const override;
  Schedule schedule_for(const loop::LoopNest& nest, int64_t rows) const override;
  std::vector<Schedule> candidates(const loop::LoopNest& nest) const override;
  std::vector<Schedule> candidates_for(const loop::LoopNest& nest, int64_t rows) const override;

  const CudaTarget& facts() const { return target_; }

 private:
  explicit CudaCodeGenerator(CudaTarget target) : target_(std::move(target)) {}
  CudaTarget target_;
};

}  // namespace edge_infer::cuda
