// Random graphs three ways: compiled kernels, the loops they were made from, and evaluate().
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>

#include "compiler/graph/op_table.h"
#include "compiler/graph/print.h"
#include "compiler/loop/evaluate.h"
#include "compiler/loop/print.h"
#include "tests/unit/compiled/fusion_count.h"
#include "tests/unit/compiled/target.h"

namespace edge_infer::test {
namespace {

#if defined(EDGE_INFER_SANITIZED)
constexpr uint64_t kGraphs = 30, kCompiled = 30, kGraphsOtherTarget = 10, kGraphsNoPass = 5;
#else
constexpr uint64_t kGraphs = 1000, kCompiled = 150, kGraphsOtherTarget = 30, kGraphsNoPass = 30;
#endif
constexpr uint64_t kBatch = 100;  // graphs whose kernels are compiled together

constexpr int kMostFailures = 20;
constexpr Tolerance kLoopTolerance{1e-5, 1e-6};
constexpr Tolerance kKernelTolerance{0, 1e-37};

// Compiling all takes minutes: $EDGE_INFER_TEST_ALL asks for it.
bool all_of_them() {
  return std::getenv("EDGE_INFER_TEST_ALL") != nullptr;
}

struct Checks {
  bool loops = false, kernels = true;
};

struct Numbered {
  uint64_t seed = 0;
  RandomGraph random;
};

std::string described(const Numbered& graph, const CompiledGraph& compiled, const TargetUnderTest& target) {
  std::string text = fmt::format("seed {} for {}\n{}", graph.seed, target.name(), print(graph.random.graph));
  for (const loop::LoopProgram& form : compiled.forms) text += loop::print_loops(form, compiled.graph);
  return text;
}

bool same_bits(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  return std::ranges::equal(a, b,
                            [](const HostTensor& x, const HostTensor& y) { return x.bytes == y.bytes; });
}

// Loops and, where the target runs here, kernels of each form against evaluate() of the graph as it was
// written, with one worker and with all. Empty where they agree.
std::string disagreement(const Numbered& graph, const CompiledGraph& compiled, const TargetUnderTest& target,
                         const Checks& checks) {
  const RandomGraph& random = graph.random;
  for (const auto& inputs : random.input_sets) {
    const int64_t t = inputs[0].sizes[0];
    const auto want = evaluate(random.graph, inputs, random.constants);
    if (!want) return "evaluate: " + want.error().message;
    std::vector<HostTensor> first;
    for (size_t form = 0; form < compiled.forms.size(); ++form) {
      if (checks.loops) {
        const auto got = loop::evaluate(compiled.forms[form], compiled.graph, inputs, random.constants);
        if (!got) return "loops: " + got.error().message;
        const std::string text = difference_of(*got, *want, random.error_bounds, kLoopTolerance);
        if (!text.empty()) return fmt::format("loops of form {} with T = {}: {}", form, t, text);
      }
      if (!checks.kernels || !target.runs()) continue;
      for (const int workers : {1, 3}) {
        auto got = target.run(compiled, form, inputs, random.constants, workers);
        if (!got) return "kernels: " + got.error().message;
        const std::string text = difference_of(*got, *want, random.error_bounds, kKernelTolerance);
        if (!text.empty())
          return fmt::format("kernels of form {} with T = {} and {} workers: {}", form, t, workers, text);
        if (form == 0 && workers == 1)
          first = *std::move(got);
        else if (!same_bits(first, *got))
          return fmt::format("kernels of form {} with T = {} and {} workers give other bits than the first",
                             form, t, workers);
      }
    }
  }
  return {};
}

// Graphs `begin` up to `end`, one batch after the other; $EDGE_INFER_TEST_SEED: that one alone, to look into
// a failure. `visit` sees each compiled graph.
void check_all(TargetUnderTest& target, uint64_t begin, uint64_t end, const Checks& checks,
               const CompileOptions& options,
               const std::function<void(const Numbered&, const CompiledGraph&)>& visit = {}) {
  int failures = 0;
  if (const char* seed = std::getenv("EDGE_INFER_TEST_SEED")) {
    begin = std::strtoull(seed, nullptr, 10);
    end = begin + 1;
  }
  for (; begin < end && failures < kMostFailures; begin += kBatch) {
    std::vector<Numbered> graphs;
    std::vector<CompiledGraph> compiled;
    for (uint64_t seed = begin; seed < std::min(end, begin + kBatch); ++seed) {
      graphs.push_back({seed, numbered_graph(seed)});
      Result<CompiledGraph> one = target.compile(graphs.back().random.graph, options);
      ASSERT_TRUE(one) << "seed " << seed << ": " << one.error().message << "\n"
                       << print(graphs.back().random.graph);
      if (visit) visit(graphs.back(), *one);
      compiled.push_back(*std::move(one));
    }
    if (checks.kernels) {
      const Status obtained = target.obtain(compiled);
      ASSERT_TRUE(obtained) << "graphs from seed " << begin << " for " << target.name() << ": "
                            << obtained.error().message;
    }
    for (size_t i = 0; i < graphs.size() && failures < kMostFailures; ++i) {
      const std::string text = disagreement(graphs[i], compiled[i], target, checks);
      if (text.empty()) continue;
      ++failures;
      ADD_FAILURE() << text << "\n" << described(graphs[i], compiled[i], target);
    }
  }
}

TEST(CompiledRandomGraphs, kernels_loops_and_evaluate_agree_and_nodes_share_kernels) {
  TargetUnderTest target(best_target());
  std::map<std::string, int> ops, reasons;
  FusionCount count;
  double share = 0, share_with_copies = 0;
  uint64_t counted = 0;
  const auto visit = [&](const Numbered& graph, const CompiledGraph& compiled) {
    for (const auto& [op, n] : graph.random.op_counts) ops[op] += n;
    const FusionCount own = count_fusion(compiled);
    EXPECT_EQ(own.without_reason, "") << described(graph, compiled, target);
    for (const loop::Unfused& edge : compiled.forms.front().unfused) ++reasons[edge.reason];
    if (own.nodes > 0) {
      share += static_cast<double>(own.kernels) / static_cast<double>(own.nodes);
      share_with_copies += static_cast<double>(own.kernels + own.copies) / static_cast<double>(own.nodes);
      ++counted;
    }
    count += own;
  };
  const uint64_t both = all_of_them() ? kGraphs : kCompiled;
  check_all(target, 0, both, {.loops = true}, {}, visit);
  check_all(target, both, kGraphs, {.loops = true, .kernels = false}, {}, visit);
  std::cout << fmt::format(
      "{} graphs, {} ops, {} nodes that are no views: {} kernels ({:.3f} a node; mean of graphs {:.3f}), {} "
      "prebuilt, {} copies of inputs and constants to outputs (with them {:.3f}), {} distinct kernels\n",
      kGraphs, ops.size(), count.nodes, count.kernels,
      static_cast<double>(count.kernels) / static_cast<double>(count.nodes),
      share / static_cast<double>(counted), count.prebuilt, count.copies,
      share_with_copies / static_cast<double>(counted), target.kernels());
  for (const auto& [reason, n] : reasons) std::cout << fmt::format("{:6} {}\n", n, reason);
  EXPECT_GE(ops.size(), 25U);
  EXPECT_LE(share / static_cast<double>(counted), 0.5);
  EXPECT_LE(static_cast<double>(count.kernels) / static_cast<double>(count.nodes), 0.5);
}

TEST(CompiledRandomGraphs, every_other_target_agrees_or_compiles) {
  for (const TargetName& name : cpu_targets()) {
    if (name.name == best_target()) continue;
    TargetUnderTest target(name.name);
    EXPECT_EQ(target.runs(), name.runs);
    check_all(target, 0, all_of_them() ? 150 : kGraphsOtherTarget, {}, {});
    std::cout << fmt::format("{}: {} kernels{}\n", name.name, target.kernels(),
                             target.runs() ? "" : ", none run: not this machine's");
    EXPECT_GT(target.kernels(), 0);
  }
}

TEST(CompiledRandomGraphs, kernels_for_another_machine_are_compiled_and_not_run) {
  for (const TargetName& name : cpu_targets()) {
    TargetUnderTest target(name.name, false);
    EXPECT_FALSE(target.runs());
    check_all(target, 0, 3, {}, {});
    EXPECT_GT(target.kernels(), 0) << name.name;
  }
}

TEST(CompiledRandomGraphs, any_pass_may_be_left_out) {
  TargetUnderTest target(best_target());
  for (const std::string& pass : compile_pipeline()) {
    SCOPED_TRACE("without " + pass);
    CompileOptions options;
    options.passes.skip = {pass};
    check_all(target, 0, all_of_them() ? 100 : kGraphsNoPass, {}, options);
    if (HasFatalFailure()) return;
  }
}

TEST(CompiledRandomGraphs, without_fusion_the_results_are_the_same) {
  TargetUnderTest target(best_target());
  check_all(target, 0, all_of_them() ? 100 : kGraphsNoPass, {}, {.fuse = false});
}

}  // namespace
}  // namespace edge_infer::test
