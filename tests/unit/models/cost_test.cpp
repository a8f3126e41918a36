// What a pass costs: the calls of the compiled program together do the arithmetic that the graph asks for.
#include "models/cost.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>

#include "models/model_embedder.h"
#include "tests/unit/models/real_model.h"

namespace edge_infer {
namespace {

constexpr int64_t kLengths[] = {16, 512, 33};

TEST(Cost, calls_of_a_compiled_program_sum_up_to_the_graph) {
  if (real_model().empty()) GTEST_SKIP() << "EDGE_INFER_TEST_MODEL is not set";
  const auto cache =
      std::filesystem::path(testing::TempDir()) / ("edge_infer_cost_" + std::to_string(::getpid()));
  {
    EmbedderOptions options;
    options.cache_dir = cache;
    auto embedder = ModelEmbedder::open(real_model(), options);
    ASSERT_TRUE(embedder) << embedder.error().message;
    ASSERT_TRUE((*embedder)->prepare());
    const auto graph = (*embedder)->graph();
    ASSERT_TRUE(graph);
    const double whole = graph_flops(*graph, kLengths);
    const auto entries = (*embedder)->module().entries();
    const Program& program = entries.back()->program->program();
    for (const int workers : {1, 2, 64}) {
      double flops = 0, bytes = 0;
      for (const CallCost& cost : call_costs(program, kLengths, workers)) {
        flops += cost.flops;
        bytes += cost.bytes;
        EXPECT_FALSE(cost.half);
      }
      EXPECT_DOUBLE_EQ(flops, whole) << workers << " workers";
      EXPECT_DOUBLE_EQ(bytes, program_bytes(program, kLengths, workers));
      // All weights of the layers once, and no embedding table as a whole (30,522 x 384).
      const double weights = 4.0 * 6 * 384 * (4 * 384 + 2 * 1536);
      EXPECT_GT(bytes, weights);
      EXPECT_LT(bytes, weights + 4.0 * 6 * 561 * 384 * 40);
    }
  }
  std::filesystem::remove_all(cache);
}

TEST(Cost, the_least_time_is_the_longer_of_arithmetic_and_traffic) {
  const DevicePeak peak{.flops = 1e12, .half_flops = 4e12, .bytes = 1e10};
  EXPECT_DOUBLE_EQ(least_seconds({.flops = 2e12, .bytes = 1e10, .half = false}, peak), 2);
  EXPECT_DOUBLE_EQ(least_seconds({.flops = 2e12, .bytes = 1e10, .half = true}, peak), 1);
  EXPECT_DOUBLE_EQ(least_seconds({.flops = 2e12, .bytes = 1e10, .half = false}, {}), 0);
}

}  // namespace
}  // namespace edge_infer
