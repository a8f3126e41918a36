// Kernels of nests with a product of f32 operands, on plain cores: precision fp32. Class f32.k1. The operand
// may be any expression of (m, k); nothing may stand beside the gemm in its row.
#pragma once

#include <string>

#include "backends/cuda/codegen/cuda_target.h"
#include "compiler/loop/loop_nest.h"
#include "runtime/base/error.h"

namespace edge_infer::cuda {

// Errors: kUnsupported with the reason, short.
Status accepts_gemm_f32(const loop::LoopNest& nest);
// The whole source. For nests that accepts_gemm_f32() takes.
std::string gemm_f32_kernel(const loop::LoopNest& nest, const CudaTarget& target);

}  // namespace edge_infer::cuda
