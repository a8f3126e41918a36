// Every tile of the GEMM templates goes through NVRTC for every architecture that has it: no spills, no
// warnings.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cuda/codegen/nvrtc_compiler.h"
#include "backends/cuda/templates/gemm_template.h"
#include "compiler/loop/parse.h"
#include "tests/unit/cuda_gemm/gemm_nests.h"

namespace edge_infer::cuda {
namespace {

std::vector<std::string> epilogues(const NestText& text) {
  return {text.bias(), text.gelu(), text.residual(), text.mixed()};
}

// One of so many kernels is compiled, another one each day; EDGE_INFER_TEST_SHARE=1: all.
size_t share() {
  const char* set = std::getenv("EDGE_INFER_TEST_SHARE");
  return set != nullptr ? std::max<size_t>(std::strtoul(set, nullptr, 10), 1) : 24;
}

class GemmCompile : public testing::TestWithParam<std::string> {};

TEST_P(GemmCompile, HasNoSpillsAndNoWarnings) {
  NvrtcCompiler compiler;
  if (const Status available = compiler.available(); !available) GTEST_SKIP() << available.error().message;
  const CudaTarget target = *CudaTarget::of(GetParam());
  std::vector<KernelSource> sources;
  std::vector<std::string> names;
  for (const std::string half : {"f16", "bf16"})
    for (const int n : {384, 33})
      for (const std::string& text : epilogues({.half = half,
                                                .accumulation = std::string(target.gemm_class),
                                                .n = n,
                                                .k = n == 33 ? 75 : 1536})) {
        const Result<loop::LoopNest> nest = loop::parse_nest(text);
        ASSERT_TRUE(nest) << nest.error().message;
        // Of few rows and of many.
        std::vector<Schedule> schedules = gemm_schedules(*nest, target);
        for (Schedule& schedule : gemm_schedules(*nest, target, 16'384))
          if (std::ranges::find(schedules, schedule) == schedules.end())
            schedules.push_back(std::move(schedule));
        for (const Schedule& schedule : schedules) {
          Result<GeneratedKernel> kernel = generate_gemm(*nest, schedule, target);
          ASSERT_TRUE(kernel) << schedule << ": " << kernel.error().message;
          sources.push_back(std::move(kernel->source));
          names.push_back(schedule + "\n" + text);
        }
      }
  const size_t step = share();
  for (size_t i = static_cast<size_t>(time(nullptr) / 86'400) % step; i < sources.size(); i += step) {
    const Result<NvrtcKernel> kernel = compiler.compile_one(sources[i]);
    ASSERT_TRUE(kernel) << names[i] << kernel.error().message;
    EXPECT_EQ(kernel->image.spill_bytes, 0) << names[i];
    EXPECT_TRUE(kernel->warnings.empty()) << names[i] << kernel->warnings.front();
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GemmCompile,
                         testing::Values("cuda.sm_90a", "cuda.sm_80", "cuda.sm_86", "cuda.sm_89",
                                         "cuda.sm_90", "cuda.sm_100", "cuda.sm_120"),
                         [](const auto& made) { return made.param.substr(5); });

}  // namespace
}  // namespace edge_infer::cuda
