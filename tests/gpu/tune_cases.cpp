// max-autotune on a GPU: what is chosen for the encoders' kernels in each row class, beside the generator's
// own choice.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <regex>

#include "compiler/codegen/registry.h"
#include "compiler/graph/parse.h"
#include "compiler/graph/print.h"
#include "compiler/tuned_schedule.h"
#include "tests/gpu/golden_graphs.h"
#include "tests/gpu/sections.h"

namespace edge_infer::test {
namespace {

// The two encoders that are timed: the golden graph is MiniLM's, of two layers; at twice the width it is
// BERT-base's.
Result<Graph> encoder(bool wide) {
  EDGE_INFER_ASSIGN(GoldenGraph golden, golden_graph("post_norm_encoder"));
  if (!wide) return std::move(golden.graph);
  std::string text = print(golden.graph);
  for (const auto& [from, to] : {std::pair{"\\b1536\\b", "3072"}, {"\\b384\\b", "768"}})
    text = std::regex_replace(text, std::regex(from), to);
  return parse_graph(text);
}

std::string line_of(const TunedNest& nest) {
  std::string line = "\n    " + nest.text() + ":";
  for (const TunedNest::Candidate& candidate : nest.candidates)
    line += candidate.nanoseconds.empty()
                ? fmt::format(" {} failed", candidate.schedule)
                : fmt::format(" {} {:.2f}", candidate.schedule,
                              static_cast<double>(std::ranges::min(candidate.nanoseconds)) / 1e3);
  return line;
}

Outcome tune(const std::shared_ptr<const cuda::CudaDevice>& device, bool wide, DType precision) {
  // Nothing else may run on the device meanwhile.
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  const Result<Graph> graph = encoder(wide);
  if (!graph) return {.failure = graph.error().message};
  const Result<TargetCompiler> target = open_compiler(device->target().name);
  if (!target) return {.failure = target.error().message};
  const CompileSite site{device, target->generator, target->compiler};
  const Result<CompiledGraph> compiled =
      compile(*graph, device->target(), *site.generator, *site.compiler, {.precision = precision});
  if (!compiled) return {.failure = compiled.error().message};
  const TunedSchedules tuned = tune_schedules(*compiled, site, nullptr, {});
  Outcome outcome;
  if (!tuned.complete) outcome.failure = "not all nests could be measured";
  size_t others = 0;
  for (const TunedNest& nest : tuned.nests) {
    others += nest.chosen != 0;
    outcome.note += line_of(nest);
    for (const TunedNest::Candidate& candidate : nest.candidates)
      if (candidate.nanoseconds.empty()) outcome.failure = nest.name + ": " + candidate.schedule + " failed";
  }
  outcome.note =
      fmt::format("{} of {} choices are not the model's own", others, tuned.nests.size()) + outcome.note;
  return outcome;
}

}  // namespace

std::vector<GpuCase> tune_cases(GpuCheck& check) {
  std::vector<GpuCase> cases;
  for (const bool wide : {false, true})
    for (const DType precision : {DType::kF16, DType::kBF16}) {
      if ((check.effort == 0 && (wide || precision != DType::kF16)) || !check.takes()) continue;
      cases.push_back({fmt::format("{}, {}", wide ? "BERT-base" : "MiniLM", dtype_name(precision)),
                       [device = check.device, wide, precision] { return tune(device, wide, precision); }});
    }
  return cases;
}

}  // namespace edge_infer::test
