// What tests of the compiler's programs on the fake driver share: a small encoder on a device.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "backends/cuda/device.h"
#include "compiler/codegen/registry.h"
#include "compiler/compile.h"
#include "compiler/graph/evaluate.h"
#include "tests/unit/cuda_device/fake/evaluated_kernels.h"

namespace edge_infer::test {

inline constexpr int64_t kVocabulary = 300;

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
