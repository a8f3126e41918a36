#include "compiler/tuned_schedule.h"

#include <algorithm>
#include <map>

#include "compiler/loop/print.h"
#include "compiler/obtain_kernels.h"
#include "compiler/tune/measure.h"
#include "runtime/base/cpu.h"
#include "runtime/base/hash.h"
#include "runtime/base/log.h"

namespace edge_infer {
namespace {

// Fewer rows than this do not tell one register tile from another.
constexpr int64_t kMeasuredRows = 128;

std::vector<int64_t> symbol_values(const loop::LoopNest& nest) {
  std::vector<int64_t> values;
  for (const Symbol& s : nest.symbols)
    values.push_back(std::clamp(std::max(s.hint, kMeasuredRows), s.range.lo, s.range.hi));
  return values;
}

Result<size_t> packed_weight_bytes(const loop::LoopNest& nest, const Device& device,
                                   const CodeGenerator& generator) {
  for (const loop::Buffer& b : nest.buffers) {
    if (b.access != loop::Access::kPacked) continue;
    return device.packed_bytes(generator.packed_format(b.dtype), b.sizes[0].constant().value_or(0),
                               b.sizes[1].constant().value_or(0));
  }
  return size_t{0};
}

Result<std::vector<TuningRow>> measure(const loop::LoopNest& nest, std::span<const Schedule> candidates,
                                       const CompileSite& c, KernelCache* cache,
                                       const std::function<bool()>& is_cancelled) {
  const Device& device = *c.device;
  // Each candidate is a kernel like any other, so that the one chosen is compiled already.
  std::vector<KernelPlan> plans;
  for (const Schedule& schedule : candidates) {
    EDGE_INFER_ASSIGN(KernelPlan plan, plan_kernel(nest, schedule, *c.generator, *c.compiler));
    plans.push_back(std::move(plan));
  }
  EDGE_INFER_ASSIGN(const ObtainReport report,
                    obtain_kernels(plans, device, *c.compiler, cache, is_cancelled));
  static_cast<void>(report);
  std::vector<LoadedKernel> kernels;
  for (const KernelPlan& plan : plans) {
    EDGE_INFER_ASSIGN(const LoadedKernel kernel, device.load_kernel(plan.name));
    kernels.push_back(kernel);
  }
  EDGE_INFER_ASSIGN(const size_t packed, packed_weight_bytes(nest, device, *c.generator));
  MeasureOptions options;
  options.is_cancelled = is_cancelled;
  const std::vector<int64_t> symbols = symbol_values(nest);
  EDGE_INFER_ASSIGN(const std::vector<double> best,
                    measure_candidates(nest, kernels, symbols, packed, options));
  std::vector<TuningRow> rows;
  for (size_t i = 0; i < candidates.size(); ++i)
    rows.push_back({nest_identity(nest),
                    c.generator->target(),
                    machine_identity(),
                    candidates[i],
                    {static_cast<int64_t>(best[i])}});
  return rows;
}

// The choice among measured candidates, in the generator's order; empty where one of them has no measurement.
std::optional<Schedule> chosen(std::span<const Schedule> candidates, std::span<const TuningRow> rows) {
  std::vector<double> times;
  for (const Schedule& candidate : candidates) {
    const auto row = std::ranges::find(rows, candidate, &TuningRow::schedule);
    if (row == rows.end() || row->nanoseconds.empty()) return std::nullopt;
    times.push_back(static_cast<double>(std::ranges::min(row->nanoseconds)));
  }
  return candidates[choose_candidate(times)];
}

}  // namespace

std::string nest_identity(const loop::LoopNest& nest) {
  return content_digest(loop::print_identity(nest));
}

std::string machine_identity() {
  return content_digest(fmt::format("{};{}", cpu_name(), best_isa())).substr(0, 32);
}

Schedule tuned_schedule(const loop::LoopNest& nest, const CompileSite& site, KernelCache* cache,
                        const std::function<bool()>& is_cancelled) {
  const std::vector<Schedule> candidates = site.generator->candidates(nest);
  if (candidates.size() < 2) return {};
  const std::string hash = nest_identity(nest);
  if (cache != nullptr) {
    const auto rows = cache->find_tuning(hash, site.generator->target(), machine_identity());
    if (auto schedule = chosen(candidates, rows)) return *schedule;
  }
  const auto rows = measure(nest, candidates, site, cache, is_cancelled);
  if (!rows) {
    if (rows.error().code != ErrorCode::kCancelled) log_warning("not tuned: {}", rows.error().message);
    return {};
  }
  if (cache != nullptr) {
    cache->put_machine(machine_identity(), fmt::format("{} ({})", cpu_name(), best_isa()));
    for (const TuningRow& row : *rows) cache->put_tuning(row);
  }
  return chosen(candidates, *rows).value_or(Schedule());
}

}  // namespace edge_infer
