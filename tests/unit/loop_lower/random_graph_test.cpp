#include "tests/conformance/random_graph.h"

#include <gtest/gtest.h>

#include "compiler/graph/op_table.h"
#include "compiler/graph/print.h"
#include "compiler/loop/print.h"
#include "tests/unit/loop_lower/check.h"

namespace edge_infer::loop::test {
namespace {

using edge_infer::test::make_random_graph;
using edge_infer::test::RandomGraph;

constexpr uint64_t kGraphs = 300;

void check(const RandomGraph& random, const LowerOptions& options, uint64_t seed, LoopProgram& program) {
  SCOPED_TRACE(fmt::format("seed {} fuse {}", seed, options.fuse));
  auto lowered = lower(random.graph, options);
  ASSERT_TRUE(lowered) << lowered.error().message << "\n" << print(random.graph);
  program = *std::move(lowered);
  for (const auto& inputs : random.input_sets) {
    const std::string text =
        difference_from_evaluate(program, random.graph, inputs, random.constants, random.error_bounds);
    ASSERT_EQ(text, "") << "T = " << inputs[0].sizes[0] << "\n"
                        << print(random.graph) << "\n"
                        << text_of(program, random.graph);
  }
}

TEST(LowerRandomGraphs, programs_equal_evaluate_and_fuse) {
  double share = 0;
  std::map<std::string, int> reasons;
  int copies = 0;
  int counted = 0;
  size_t prebuilt = 0, steps = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const RandomGraph random = make_random_graph(seed, static_cast<int>(3 + seed % 28));
    LoopProgram program;
    check(random, {}, seed, program);
    if (HasFatalFailure()) return;
    int nodes = 0;
    for (const Node& node : random.graph.nodes()) nodes += node.op->kind != OpKind::kView;
    if (nodes >= 10) {
      share += static_cast<double>(nest_steps(program)) / nodes;
      ++counted;
    }
    steps += program.steps.size();
    for (const Unfused& edge : program.unfused) ++reasons[edge.reason];
    for (const Step& step : program.steps)
      copies += step.nodes.empty() ||
                (step.nest >= 0 && program.nests[static_cast<size_t>(step.nest)].name.starts_with("copy"));
    prebuilt += program.steps.size() - static_cast<size_t>(nest_steps(program));
  }
  ASSERT_GT(counted, 100);
  const double mean = share / counted;
  std::cout << fmt::format("{} graphs of 10 nodes or more: {:.3f} kernels a node; {} of {} steps prebuilt\n",
                           counted, mean, prebuilt, steps);
  for (const auto& [reason, count] : reasons) std::cout << fmt::format("{:6} {}\n", count, reason);
  std::cout << copies << " copies\n";
  // Without the passes, and copies of inputs to outputs counted: above what tests/unit/compiled counts.
  EXPECT_LE(mean, 0.55);
  // A back end without prebuilt kernels needs nests of all; one scan has longer rows than a Local may have.
  EXPECT_LE(prebuilt, 1u);
}

TEST(LowerRandomGraphs, programs_without_fusion_equal_evaluate) {
  LowerOptions options;
  options.fuse = false;
  for (uint64_t seed = 0; seed < kGraphs; seed += 5) {
    LoopProgram program;
    check(make_random_graph(seed, static_cast<int>(3 + seed % 28)), options, seed, program);
    if (HasFatalFailure()) return;
  }
}

TEST(LowerRandomGraphs, the_same_graph_gives_the_same_text) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const RandomGraph random = make_random_graph(seed, 20);
    const auto a = lower(random.graph, {}), b = lower(random.graph, {});
    ASSERT_TRUE(a && b);
    EXPECT_EQ(text_of(*a, random.graph), text_of(*b, random.graph));
  }
}

}  // namespace
}  // namespace edge_infer::loop::test
