// What tests of the compiler's programs on the fake driver share: a small encoder, a compiler whose code is
// the name of a kernel of the fake driver, and loop::evaluate as what such a kernel does.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "compiler/codegen/registry.h"
#include "compiler/compile.h"
#include "compiler/graph/evaluate.h"
#include "tests/unit/cuda_device/fake/fake_cuda.h"

namespace edge_infer::test {

inline constexpr int64_t kVocabulary = 300;

// Name of the fake driver's kernel for a source.
std::string code_name(std::string_view source);

class FakeCompiler final : public KernelCompiler {
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

// Fresh fake driver, a device, and the encoder with its constants: two layers, width 64.
class EncoderTest : public testing::Test {
 protected:
  void SetUp() override;
  // Another process would see the driver, not this one's device.
  void open();

  std::string most_tokens_ = "16384";  // of a call
  std::shared_ptr<const cuda::CudaDevice> device_;
  std::shared_ptr<FakeCompiler> fake_compiler_;
  TargetCompiler compiler_;
  Graph graph_;
  TensorMap constants_;
};

}  // namespace edge_infer::test
