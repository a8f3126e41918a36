// Kernels of nests with a loop::Gemm statement: f16 and bf16 products on tensor cores. One source of the
// whole kernel, the launch line first.
#pragma once

#include <vector>

#include "backends/cuda/codegen/cuda_target.h"
#include "compiler/codegen/code_generator.h"
#include "compiler/loop/loop_nest.h"
#include "runtime/base/error.h"

namespace edge_infer::cuda {

// The reason why generate_gemm() does not serve the nest, short ("slot refused: row needs BN = N").
Status accepts_gemm(const loop::LoopNest& nest, const CudaTarget& target);
// Rows up to which one schedule serves, as CodeGenerator::row_classes(); and that for calls of at most
// `rows`.
std::vector<int64_t> gemm_row_classes(const CudaTarget& target);
Schedule gemm_schedule_for(const loop::LoopNest& nest, int64_t rows, const CudaTarget& target);
// At most 8, the default first, all of one accumulation class. For nests that accepts_gemm() takes. `rows`:
// of the calls that they are for; 0: as the nest's symbols hint.
std::vector<Schedule> gemm_schedules(const loop::LoopNest& nest, const CudaTarget& target, int64_t rows = 0);
// An empty schedule is the first of gemm_schedules(). Errors: kUnsupported as accepts_gemm();
// kInvalidArgument for a schedule that does not fit the nest.
Result<GeneratedKernel> generate_gemm(const loop::LoopNest& nest, const Schedule& schedule,
                                      const CudaTarget& target);

}  // namespace edge_infer::cuda
