#include "tests/unit/compiled/target.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <utility>

#include "backends/cpu/codegen/cc_compiler.h"
#include "backends/cpu/prebuilt/registry.h"
#include "compiler/codegen/registry.h"
#include "compiler/fallback/run_program.h"
#include "compiler/obtain_kernels.h"
#include "runtime/device/registry.h"
#include "tests/support/fallback_run.h"

namespace edge_infer::test {
namespace {

// A batch holds the kernels of a hundred graphs, and the machine may be busy.
constexpr CcLimits kPatient{.cpu_seconds = 600, .batch_ms = 600'000};
// Nanoseconds a row that make any call worth all workers.
constexpr int64_t kDear = 1'000'000'000;

}  // namespace

std::vector<TargetName> cpu_targets() {
  std::vector<TargetName> targets;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
    targets.push_back({fmt::format("cpu.{}", isa_name(isa)), isa_runs_here(isa)});
  return targets;
}

std::string best_target() {
  std::string best;
  for (const TargetName& target : cpu_targets())
    if (target.runs) best = target.name;
  return best;
}

TargetUnderTest::TargetUnderTest(const std::string& name, bool may_run)
    : compiler_(std::make_shared<CcCompiler>(kPatient)) {
  target_ = find_target(name).value();
  if (may_run)
    if (auto device = open_device(name)) device_ = *std::move(device);
  generator_ = open_compiler(name).value().generator;
  const char* folder = std::getenv("EDGE_INFER_TEST_KERNELS");
  cache_ = folder != nullptr ? KernelCache::open({.dir = folder, .limit_bytes = int64_t{1} << 30})
                             : KernelCache::open({.in_memory = true});
}

Result<CompiledGraph> TargetUnderTest::compile(const Graph& graph, const CompileOptions& options) const {
  return edge_infer::compile(graph, target_, *generator_, *compiler_, options);
}

Status TargetUnderTest::obtain(std::span<const CompiledGraph> graphs) {
  std::set<std::string> names;
  std::vector<KernelPlan> kernels;
  for (const CompiledGraph& graph : graphs)
    for (const KernelPlan& kernel : graph.kernels)
      if (names.insert(kernel.name).second) kernels.push_back(kernel);
  if (runs()) {
    EDGE_INFER_ASSIGN(const ObtainReport report,
                      obtain_kernels(kernels, *device_, *compiler_, cache_.get(), {}));
    kernels_ += report.compiled + report.from_cache;
    return {};
  }
  std::vector<KernelSource> sources;
  for (const KernelPlan& kernel : kernels) sources.push_back(kernel.generated.source);
  const auto compiled = compiler_->compile(sources);
  for (size_t k = 0; k < compiled.size(); ++k)
    if (!compiled[k]) return fail_with_context(compiled[k].error(), kernels[k].nest.name);
  kernels_ += static_cast<int64_t>(compiled.size());
  return {};
}

Result<std::vector<HostTensor>> TargetUnderTest::run(const CompiledGraph& graph, size_t form,
                                                     std::span<const HostTensor> inputs,
                                                     const TensorMap& constants, int workers) const {
  Program program = graph.program;
  if (graph.forms.size() > 1) {
    std::erase_if(program.phases, [&](const Phase& p) { return !(p.when == graph.when[form]); });
    for (Phase& phase : program.phases) phase.when = 1;
  }
  if (workers > 1)
    for (Phase& phase : program.phases)
      for (Call& call : phase.calls) call.row_cost = kDear;
  return run_program(graph.graph, std::move(program), *device_, inputs, constants, workers);
}

RandomGraph numbered_graph(uint64_t seed) {
  return make_random_graph(seed, static_cast<int>(3 + seed % 38));
}

std::string difference_of(std::span<const HostTensor> got, std::span<const HostTensor> want,
                          std::span<const double> error_bounds, const Tolerance& extra) {
  if (got.size() != want.size()) return fmt::format("{} outputs, expected {}", got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const std::string text = difference(got[i], want[i], {extra.relative, extra.absolute + error_bounds[i]});
    if (!text.empty()) return fmt::format("output {}: {}", i, text);
  }
  return {};
}

}  // namespace edge_infer::test
