// Kernels of nests without gemm and attention: pointwise work, rows with reductions, gathers, pools.
#pragma once

#include <string>

#include "backends/cuda/codegen/cuda_target.h"
#include "compiler/loop/loop_nest.h"
#include "runtime/base/error.h"

namespace edge_infer::cuda {

Status accepts_plain(const loop::LoopNest& nest, const CudaTarget& target);
// The whole source. Errors: as accepts_plain().
Result<std::string> plain_kernel(const loop::LoopNest& nest, const CudaTarget& target);

}  // namespace edge_infer::cuda
