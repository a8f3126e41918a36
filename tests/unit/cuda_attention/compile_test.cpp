// Every attention template goes through NVRTC for every architecture that has it: no spills, no warnings.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "backends/cuda/codegen/nvrtc_compiler.h"
#include "backends/cuda/templates/attention_template.h"
#include "tests/support/cuda/attention_nests.h"

namespace edge_infer::cuda {
namespace {

// One of so many kernels a run, others every day; all with EDGE_INFER_TEST_ALL.
size_t share() {
  return std::getenv("EDGE_INFER_TEST_ALL") != nullptr ? 1 : 8;
}

class AttentionCompile : public testing::TestWithParam<std::string> {};

TEST_P(AttentionCompile, HasNoSpillsAndNoWarnings) {
  NvrtcCompiler compiler;
  if (const Status available = compiler.available(); !available) GTEST_SKIP() << available.error().message;
  const CudaTarget target = *CudaTarget::of(GetParam());
  const std::vector<test::AttentionShape> shapes = test::attention_shapes();
  const size_t step = share();
  for (size_t i = static_cast<size_t>(std::time(nullptr) / 86'400) % step; i < shapes.size(); i += step) {
    SCOPED_TRACE(shapes[i].label());
    const loop::LoopNest nest = attention_nest(shapes[i]);
    for (const Schedule& schedule : attention_schedules(nest, target)) {
      const Result<GeneratedKernel> made = generate_attention(nest, schedule, target);
      ASSERT_TRUE(made) << made.error().message;
      const Result<NvrtcKernel> kernel = compiler.compile_one(made->source);
      ASSERT_TRUE(kernel) << kernel.error().message;
      EXPECT_EQ(kernel->image.spill_bytes, 0);
      EXPECT_TRUE(kernel->warnings.empty()) << kernel->warnings.front();
      EXPECT_EQ(kernel->image.launch, *CudaLaunch::of_source(made->source.source));
      break;  // schedules differ in the launch line alone
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, AttentionCompile,
                         testing::Values("cuda.sm_90a", "cuda.sm_80", "cuda.sm_86", "cuda.sm_89",
                                         "cuda.sm_90", "cuda.sm_100", "cuda.sm_120"),
                         [](const auto& made) { return made.param.substr(5); });

}  // namespace
}  // namespace edge_infer::cuda
