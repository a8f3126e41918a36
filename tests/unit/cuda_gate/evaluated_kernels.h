// Kernels of the fake driver whose meaning is loop::evaluate of the nest that they were generated from.
#pragma once

#include <string>
#include <string_view>

#include "compiler/codegen/kernel_compiler.h"
#include "compiler/compile.h"

namespace edge_infer::test {

// What the compiler says of each kernel.
constexpr int kFakeRegisters = 40, kFakeStaticShared = 1024;

// "Compiles" a source to the name of a kernel of the fake driver.
class FakeCompiler : public KernelCompiler {
 public:
  std::string identity() const override { return "fake"; }
  std::string options() const override { return ""; }
  Status available() const override { return {}; }
  std::vector<Result<CompiledKernel>> compile(std::span<const KernelSource> sources,
                                              const std::function<bool()>&) override;
};

// Gives the kernels of a graph that is compiled with a FakeCompiler their meaning. Errors: of a source whose
// launch line does not parse.
Status give_meaning(const CompiledGraph& compiled);

// The graph of tests/golden/loops/post_norm_encoder.graph with a vocabulary of 300, 64 dimensions, 128 inner
// ones, 700 positions and 2 heads.
Result<Graph> small_encoder();

}  // namespace edge_infer::test
