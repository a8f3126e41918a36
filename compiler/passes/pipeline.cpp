// The pipeline as a table, and its driver.
#include <algorithm>
#include <array>
#include <chrono>

#include "compiler/graph/verify.h"
#include "compiler/passes/passes.h"

namespace edge_infer {
namespace {

using enum GraphStage;
constexpr std::array kPasses = {
    PassInfo{"canonicalize", canonicalize, kCaptured, kCanonical, true,
             "the others compare nodes by their form"},
    PassInfo{"fold_constants", fold_constants, kCanonical, kCanonical, true,
             "folded results may become equal"},
    PassInfo{"eliminate_common_subexpressions", eliminate_common_subexpressions, kCanonical, kCanonical, true,
             "merging leaves unused nodes"},
    PassInfo{"eliminate_dead_nodes", eliminate_dead_nodes, kCanonical, kCanonical, true,
             "after all that strand nodes"},
    PassInfo{"merge_parallel_linears", merge_parallel_linears, kCanonical, kCanonical, false,
             "equal operands are one value by now, and dead readers gone"},
    PassInfo{"assign_precision", assign_precision, kCanonical, kCanonical, false,
             "merged linears round their operand and their weight once"},
    PassInfo{"decompose", decompose, kCanonical, kPrimitive, false, "last, so that all above see whole ops"},
};

Result<std::vector<const PassInfo*>> chosen(const PipelineOptions& options) {
  std::vector<const PassInfo*> passes;
  const auto find = [](const std::string& name) -> Result<const PassInfo*> {
    const auto found =
        std::find_if(kPasses.begin(), kPasses.end(), [&](const PassInfo& p) { return p.name == name; });
    if (found != kPasses.end()) return &*found;
    std::string names;
    for (const PassInfo& pass : kPasses) names += (names.empty() ? "" : ", ") + std::string(pass.name);
    return fail(ErrorCode::kInvalidArgument, "there is no pass \"{}\"; the passes are {}", name, names);
  };
  if (options.passes) {
    for (const std::string& name : *options.passes) {
      EDGE_INFER_ASSIGN(const PassInfo* pass, find(name));
      passes.push_back(pass);
    }
  } else {
    for (const PassInfo& pass : kPasses)
      if (pass.in_pipeline) passes.push_back(&pass);
  }
  for (const std::string& name : options.skip) {
    EDGE_INFER_ASSIGN(const PassInfo* skipped, find(name));
    std::erase(passes, skipped);
  }
  return passes;
}

}  // namespace

std::span<const PassInfo> graph_passes() {
  return kPasses;
}

std::vector<std::string> compile_pipeline(DType precision) {
  std::vector<std::string> names;
  for (const PassInfo& pass : kPasses) {
    // Lowering takes whole ops apart itself, knowing what shares a row.
    if (pass.name == "decompose" || (pass.name == "assign_precision" && precision == DType::kF32)) continue;
    names.emplace_back(pass.name);
  }
  return names;
}

Result<std::vector<PassReport>> run_passes(Graph& graph, const PipelineOptions& options) {
  EDGE_INFER_ASSIGN(const auto passes, chosen(options));
  std::vector<PassReport> reports;
  for (const PassInfo* pass : passes) {
    if (options.is_cancelled && options.is_cancelled())
      return fail(ErrorCode::kCancelled, "stopped before pass {}", pass->name);
    const auto start = std::chrono::steady_clock::now();
    const auto changed = pass->run(graph, options.context);
    if (!changed) return fail_with_context(changed.error(), "pass " + std::string(pass->name));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    reports.push_back({pass->name, *changed, time.count()});
    if (options.verify_each)
      if (auto status = verify(graph); !status)
        return fail(ErrorCode::kInternal, "after pass {}: {}", pass->name, status.error().message);
    if (*changed && options.on_change) options.on_change(pass->name, graph);
  }
  return reports;
}

}  // namespace edge_infer
