// Kernels of nests with a loop::Attention statement: attention over packed sequences. One source of the whole
// kernel, the launch line first.
#pragma once

#include <vector>

#include "backends/cuda/codegen/cuda_target.h"
#include "compiler/codegen/code_generator.h"
#include "compiler/loop/loop_nest.h"
#include "runtime/base/error.h"

namespace edge_infer::cuda {

// The reason why generate_attention() does not serve the nest, short ("slot refused: row needs BN = N").
Status accepts_attention(const loop::LoopNest& nest, const CudaTarget& target);
// At most 8, the default first, all of one accumulation class. For nests that accepts_attention() takes.
std::vector<Schedule> attention_schedules(const loop::LoopNest& nest, const CudaTarget& target);
// An empty schedule is the first of attention_schedules(). Errors: kUnsupported as accepts_attention();
// kInvalidArgument for a schedule that does not fit the nest.
Result<GeneratedKernel> generate_attention(const loop::LoopNest& nest, const Schedule& schedule,
                                           const CudaTarget& target);

}  // namespace edge_infer::cuda
