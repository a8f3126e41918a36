#include "tests/unit/cuda_program/encoder.h"

#include <cstdlib>

#include "backends/cuda/codegen/cuda_code_generator.h"

namespace edge_infer::test {
void EncoderTest::SetUp() {
  cuda::fake::reset();
  ::setenv("EDGE_INFER_LIBCUDA", EDGE_INFER_FAKE_CUDA, 1);
  fake_compiler_ = std::make_shared<FakeCompiler>();
  open();
  if (device_ == nullptr) return;
  auto graph = small_encoder(most_tokens_);
  ASSERT_TRUE(graph) << graph.error().message;
  graph_ = *std::move(graph);
  constants_ = small_encoder_constants(graph_);
}

void EncoderTest::open() {
  auto device = cuda::CudaDevice::open();
  ASSERT_TRUE(device) << device.error().message;
  device_ = *device;
  auto generator = cuda::CudaCodeGenerator::for_target(device_->target().name);
  ASSERT_TRUE(generator) << generator.error().message;
  compiler_ = {std::make_shared<cuda::CudaCodeGenerator>(*std::move(generator)), fake_compiler_};
}

}  // namespace edge_infer::test
