// Parts of a kernel's source that templates and plain kernels share: launch line, prelude, parameters, sizes.
#pragma once

#include <string>
#include <string_view>

#include "backends/cuda/codegen/cuda_target.h"
#include "backends/cuda/launch.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer::cuda {

// "const i64* n, const u16* b0, float* b1": the ABI of backends/cuda/launch.h without maps. No pointer is
// __restrict__: what another kernel of the graph writes must not be read through the read-only cache.
std::string kernel_parameters(const loop::LoopNest& nest);
// `const i64 s0 = n[0];` of those sizes that `body` names.
std::string size_lines(const loop::LoopNest& nest, std::string_view body);
// Programmatic launch: what stands at the kernel's start, and what before its first access to memory that
// another kernel writes; "" where the target has none.
std::string launch_dependents_line(const CudaTarget& target);
std::string wait_line(const CudaTarget& target);
// The whole source: launch line, what `kernel` needs of the prelude, `kernel`.
std::string assemble_source(const CudaLaunch& launch, std::string_view kernel);

}  // namespace edge_infer::cuda
