// CpuCodeGenerator: loop nests to freestanding C with vectors of sixteen lanes, for one instruction set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/templates/gemm_schedule.h"
#include "compiler/codegen/code_generator.h"
#include "runtime/base/cpu.h"

namespace edge_infer {

class CpuCodeGenerator final : public CodeGenerator {
 public:
  // For this machine, as best_isa() has it.
  static CpuCodeGenerator for_this_cpu();
  // For a target by name, whatever machine this is: "cpu.portable", "cpu.avx2", "cpu.avx512". `cpu` adds what
  // its target allows (bf16, vnni, amx; the latter only where this process may use it, request_amx()).
  // Errors: kInvalidArgument for another name.
  static Result<CpuCodeGenerator> for_target(std::string_view target, const CpuFeatures& cpu = {});

  std::string version() const override;
  std::string target() const override { return target_; }
  std::string features() const override { return features_; }
  std::string packed_format(DType dtype) const override;
  std::string accumulation_class(DType dtype) const override;
  DType fastest_precision() const override;
  Status accepts(const loop::LoopNest& nest) const override;
  Result<GeneratedKernel> generate(const loop::LoopNest& nest, const Schedule& schedule) const override;
  std::vector<Schedule> candidates(const loop::LoopNest& nest) const override;

 private:
  CpuCodeGenerator(std::string target, std::string features, GemmClass bf16_class, int panel,
                   bool fused_multiply_add)
      : target_(std::move(target)),
        features_(std::move(features)),
        bf16_class_(bf16_class),
        panel_(panel),
        fused_multiply_add_(fused_multiply_add) {}

  GemmProblem problem(const loop::LoopNest& nest) const;

  std::string target_, features_;
  GemmClass bf16_class_;
  int panel_;
  bool fused_multiply_add_;
};

}  // namespace edge_infer
