// Generated CUDA kernels compiled as C++ (tests/support/cuda_emulation.h) and run on the CPU.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/code_generator.h"
#include "compiler/graph/host_tensor.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer::cuda::test {

// Whether there is a compiler to make them with; the reason where there is none.
Status can_emulate();

class EmulatedKernels {
 public:
  // Compiles all sources in a few translation units. Errors: kInvalidArgument with the compiler's messages,
  // also for inline PTX that the emulation does not know.
  static Result<EmulatedKernels> compile(std::span<const std::string> sources);

  // Runs kernel `index` of `sources` for `nest`, twice: with few CTAs and threads in ascending order, with
  // more and in descending order; the two must agree to the bit. Out buffers are poisoned first, and the
  // guards around all buffers are checked. Errors: kInternal with what went wrong.
  Status run(size_t index, const loop::LoopNest& nest, std::span<const int64_t> symbols,
             std::span<HostTensor* const> buffers) const;

 private:
  using Launch = void (*)(void** arguments, unsigned grid, bool descending);
  std::vector<Launch> launches_;
};

}  // namespace edge_infer::cuda::test
