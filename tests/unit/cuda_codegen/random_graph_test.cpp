// Random graphs run with emulated CUDA kernels in place of evaluate(), against evaluate() of the graph as it
// was written.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "backends/cuda/codegen/cuda_code_generator.h"
#include "compiler/graph/print.h"
#include "compiler/loop/evaluate.h"
#include "tests/support/fallback_run.h"
#include "tests/unit/cuda_codegen/emulated_kernels.h"
#include "tests/unit/cuda_codegen/random_nests.h"

namespace edge_infer::cuda::test {
namespace {

#if defined(EDGE_INFER_SANITIZED)
constexpr uint64_t kGraphs = 8;
#else
constexpr uint64_t kGraphs = 60;
#endif
constexpr const char* kTarget = "cuda.sm_90a";

TEST(CudaRandomGraphs, emulated_kernels_agree_with_evaluate) {
  if (const Status status = can_emulate(); !status) GTEST_SKIP() << status.error().message;
  uint64_t begin = 0, end = kGraphs;
  if (const char* seed = std::getenv("EDGE_INFER_TEST_SEED")) {
    begin = std::strtoull(seed, nullptr, 10);
    end = begin + 1;
  }
  const auto generator = CudaCodeGenerator::for_target(kTarget);
  std::vector<RandomProgram> programs;
  std::vector<std::string> sources;
  std::map<std::string, size_t> index_of;
  std::vector<std::vector<size_t>> kernels;
  for (uint64_t seed = begin; seed < end; ++seed) {
    auto made = random_program(kTarget, seed);
    ASSERT_TRUE(made) << "seed " << seed << ": " << made.error().message;
    std::vector<size_t> mine;
    for (const loop::LoopNest& nest : made->program.nests) {
      const auto kernel = generator->generate(nest, "");
      ASSERT_TRUE(kernel) << "seed " << seed << ": " << kernel.error().message;
      const auto [it, added] = index_of.emplace(kernel->source.source, sources.size());
      if (added) sources.push_back(kernel->source.source);
      mine.push_back(it->second);
    }
    kernels.push_back(std::move(mine));
    programs.push_back(*std::move(made));
  }
  const auto emulated = EmulatedKernels::compile(sources);
  ASSERT_TRUE(emulated) << emulated.error().message;
  int64_t runs = 0;
  for (size_t p = 0; p < programs.size(); ++p) {
    const RandomProgram& made = programs[p];
    for (const auto& inputs : made.random.input_sets) {
      const auto want = evaluate(made.random.graph, inputs, made.random.constants);
      ASSERT_TRUE(want) << want.error().message;
      std::string used;
      const auto got = loop::evaluate(
          made.program, made.graph, inputs, made.random.constants,
          [&](const loop::LoopNest& nest, std::span<const int64_t> symbols,
              std::span<HostTensor* const> buffers) {
            ++runs;
            const size_t kernel = kernels[p][static_cast<size_t>(&nest - made.program.nests.data())];
            used += sources[kernel];
            return emulated->run(kernel, nest, symbols, buffers);
          });
      ASSERT_TRUE(got) << "seed " << begin + p << ": " << got.error().message << used;
      for (size_t i = 0; i < want->size(); ++i) {
        const std::string text =
            edge_infer::test::difference((*got)[i], (*want)[i], {0, 1e-37 + made.random.error_bounds[i]});
        ASSERT_EQ(text, "") << "seed " << begin + p << " output " << i << "\n"
                            << print(made.random.graph) << used;
      }
    }
  }
  std::cout << fmt::format("{} graphs, {} kernels, {} runs\n", programs.size(), sources.size(), runs);
  EXPECT_GT(sources.size(), begin + 1 == end ? 0U : 50U);
}

}  // namespace
}  // namespace edge_infer::cuda::test
