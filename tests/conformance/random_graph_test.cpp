// Differential test: random graphs through the fallback and through evaluate().
#include "tests/conformance/random_graph.h"

#include <gtest/gtest.h>

#include "backends/cpu/device.h"
#include "compiler/graph/print.h"
#include "tests/support/fallback_run.h"

namespace edge_infer::test {
namespace {

constexpr uint64_t kGraphs = 300;

void check(const RandomGraph& random, const Device& device, uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {} on {}", seed, device.target().name));
  Result<FallbackRun> run = FallbackRun::make(random.graph, device, random.constants);
  ASSERT_TRUE(run) << run.error().message << "\n" << print(random.graph);
  for (const auto& inputs : random.input_sets) {
    const auto want = evaluate(random.graph, inputs, random.constants);
    ASSERT_TRUE(want) << want.error().message << "\n" << print(random.graph);
    const auto got = run->run(inputs, *want, seed % 2 == 0 ? 1 : 3);
    ASSERT_TRUE(got) << got.error().message << "\n" << print(random.graph);
    for (size_t i = 0; i < want->size(); ++i) {
      // Subnormal products may round twice in evaluate().
      const std::string text = difference((*got)[i], (*want)[i], {0, random.error_bounds[i] + 1e-37});
      ASSERT_TRUE(text.empty()) << "output " << i << " %"
                                << random.graph.value(random.graph.outputs()[i].value).name
                                << " with T = " << inputs[0].sizes[0] << ": " << text << "\n"
                                << print(random.graph);
    }
  }
}

TEST(RandomGraphs, FallbackEqualsEvaluateWithinTheirErrorBounds) {
  std::map<std::string, int> ops;
  size_t exact = 0, outputs = 0, nodes = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const RandomGraph random = make_random_graph(seed, static_cast<int>(3 + seed % 28));
    for (const auto& [op, count] : random.op_counts) ops[op] += count;
    for (const double bound : random.error_bounds) exact += bound == 0;
    outputs += random.error_bounds.size();
    nodes += random.graph.nodes().size();
    for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
      if (isa_runs_here(isa)) check(random, CpuDevice(isa), seed);
    if (HasFatalFailure()) return;
  }
  // The generator must not shrink unseen.
  EXPECT_GE(ops.size(), 45U);
  for (const auto& [op, count] : ops) EXPECT_GE(count, 5) << op;
  EXPECT_GT(nodes, 4000U);
  EXPECT_GT(exact, outputs / 4);
  EXPECT_GT(outputs - exact, outputs / 4);
}

}  // namespace
}  // namespace edge_infer::test
