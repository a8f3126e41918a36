// The explicit list of back ends that generate code.
#include "backends/cpu/codegen/cc_compiler.h"
#include "backends/cpu/codegen/cpu_code_generator.h"
#include "backends/cuda/codegen/cuda_code_generator.h"
#include "backends/cuda/codegen/nvrtc_compiler.h"
#include "compiler/codegen/registry.h"

namespace edge_infer {

Result<TargetCompiler> open_compiler(std::string_view target) {
  if (target.starts_with("cuda.")) {
    EDGE_INFER_ASSIGN(cuda::CudaCodeGenerator generator, cuda::CudaCodeGenerator::for_target(target));
    return TargetCompiler{std::make_shared<const cuda::CudaCodeGenerator>(std::move(generator)),
                          std::make_shared<cuda::NvrtcCompiler>()};
  }
  if (!target.starts_with("cpu."))
    return fail(ErrorCode::kUnsupported, "no back end generates code for \"{}\"", target);
  CpuFeatures cpu = cpu_features();
  cpu.amx_bf16 = cpu.amx_bf16 && request_amx();
  EDGE_INFER_ASSIGN(CpuCodeGenerator generator, CpuCodeGenerator::for_target(target, cpu));
  return TargetCompiler{std::make_shared<const CpuCodeGenerator>(std::move(generator)),
                        std::make_shared<CcCompiler>()};
}

}  // namespace edge_infer
