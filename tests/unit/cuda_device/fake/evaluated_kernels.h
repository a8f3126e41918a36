// Compiled graphs on the fake driver: a compiler whose code is the name of a kernel of the driver, and
// kernels whose meaning is loop::evaluate of the nest that they were generated from.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/kernel_compiler.h"
#include "compiler/compile.h"
#include "compiler/graph/evaluate.h"
#include "tests/unit/cuda_device/fake/fake_cuda.h"

namespace edge_infer::test {

// What the compiler says of each kernel.
constexpr int kFakeRegisters = 40, kFakeStaticShared = 1024;

// Name of the fake driver's kernel for a source.
std::string code_name(std::string_view source);

class FakeCompiler : public KernelCompiler {
 public:
  std::string identity() const override { return "fake"; }
  std::string options() const override { return ""; }
  Status available() const override { return {}; }
  std::vector<Result<CompiledKernel>> compile(std::span<const KernelSource> sources,
                                              const std::function<bool()>&) override;

  std::vector<size_t> batches;      // sources of each compile()
  std::set<std::string> refused;    // code names that do not compile
  std::set<std::string> too_large;  // code names that want more shared memory than there is
};

// A kernel of the fake driver for a plan; its body is empty.
cuda::fake::Kernel fake_kernel(const KernelPlan& plan);
// Computes the nest in the memory of a launch.
void run_nest(const loop::LoopNest& nest, const cuda::fake::Launch& launch);
// Gives the kernels of a graph that is compiled with a FakeCompiler their meaning.
void give_meaning(const CompiledGraph& compiled);

// The graph of tests/golden/loops/post_norm_encoder.graph with a vocabulary of 300, 64 dimensions, 128 inner
// ones, 700 positions and 2 heads; `most_tokens` of a call.
Result<Graph> small_encoder(const std::string& most_tokens = "16384");
// Its constants: normal numbers of deviation 0.2, the same in every run.
TensorMap small_encoder_constants(const Graph& graph);

}  // namespace edge_infer::test
