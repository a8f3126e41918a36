#include "compiler/tuned_schedule.h"

#include <algorithm>
#include <set>

#include "compiler/loop/print.h"
#include "compiler/obtain_kernels.h"
#include "compiler/tune/choose.h"
#include "compiler/tune/measured_call.h"
#include "runtime/base/hash.h"
#include "runtime/base/log.h"

namespace edge_infer {
namespace {

std::string machine_identity(const CompileSite& site) {
  return content_digest(site.device->measured_on()).substr(0, 32);
}

std::vector<Schedule> candidates_of(const loop::LoopNest& nest, int64_t rows, const CompileSite& site) {
  return rows > 0 ? site.generator->candidates_for(nest, rows) : site.generator->candidates(nest);
}

Schedule own_choice(const loop::LoopNest& nest, int64_t rows, const CompileSite& site) {
  return rows > 0 ? site.generator->schedule_for(nest, rows) : Schedule();
}

// False where all candidates failed.
bool choose(TunedNest& tuned) {
  std::vector<CandidateTimes> times;
  for (const TunedNest::Candidate& candidate : tuned.candidates) times.push_back(candidate.nanoseconds);
  const std::optional<size_t> chosen = choose_candidate(times);
  tuned.chosen = chosen.value_or(0);
  return chosen.has_value();
}

// Nests to be measured, with the kernels of their candidates.
class Tuning {
 public:
  Tuning(const CompileSite& site, KernelCache* cache, const std::function<bool()>& is_cancelled)
      : site_(site), cache_(cache), is_cancelled_(is_cancelled) {}

  TunedSchedules run(const CompiledGraph& graph) {
    for (size_t f = 0; f < graph.forms.size(); ++f)
      for (const loop::LoopNest& nest : graph.forms[f].nests) add(nest, graph.rows[f]);
    if (!work_.empty()) obtain_and_measure();
    return std::move(out_);
  }

 private:
  struct Work {
    const loop::LoopNest* nest;
    TunedNest tuned;
    std::vector<size_t> plans;  // of each candidate, in plans_; kNone: it cannot be generated
  };
  static constexpr size_t kNone = SIZE_MAX;

  void add(const loop::LoopNest& nest, int64_t rows) {
    const std::vector<Schedule> schedules = candidates_of(nest, rows, site_);
    if (schedules.size() < 2) return;
    const std::string identity = tuning_identity(nest, rows, site_);
    if (!known_.insert(identity).second) return;
    if (cache_ != nullptr) {
      if (auto stored = stored_tuning(nest, rows, site_, *cache_)) {
        out_.nests.push_back(*std::move(stored));
        return;
      }
      note_miss(nest, identity);
    }
    Work work{&nest, {.identity = identity, .name = nest.name, .rows = rows}, {}};
    for (const Schedule& schedule : schedules) {
      work.tuned.candidates.push_back({schedule, {}});
      work.plans.push_back(add_plan(nest, schedule));
    }
    work_.push_back(std::move(work));
  }

  size_t add_plan(const loop::LoopNest& nest, const Schedule& schedule) {
    Result<KernelPlan> plan = plan_kernel(nest, schedule, *site_.generator, *site_.compiler);
    if (!plan) {
      leave_out(nest, schedule, plan.error());
      return kNone;
    }
    // Row classes share candidates, and those that lose are not compiled twice either.
    const auto known = std::ranges::find(plans_, plan->name, &KernelPlan::name);
    const auto at = static_cast<size_t>(known - plans_.begin());
    if (known == plans_.end()) plans_.push_back(*std::move(plan));
    return at;
  }

  void note_miss(const loop::LoopNest& nest, const std::string& identity) {
    const MissReason reason =
        cache_->explain_tuning_miss(identity, site_.generator->target(), site_.device->measured_on());
    if (reason.empty) return;
    const std::string text = fmt::format("measured elsewhere: {}", reason.text());
    cache_->add_event("miss", "tuning:@" + nest.name, text);
    // The same for all nests.
    if (!noted_) log_info("schedules are measured anew: {}", reason.text());
    noted_ = true;
  }

  void leave_out(const loop::LoopNest& nest, const Schedule& schedule, const Error& why) {
    log_warning("candidate {} of @{} is left out: {}", schedule, nest.name, why.message);
    if (cache_ != nullptr) cache_->add_event("failed", "tuning:@" + nest.name, schedule + ": " + why.message);
  }

  void obtain_and_measure() {
    const auto statuses = obtain_candidates(plans_, *site_.device, *site_.compiler, cache_, is_cancelled_);
    if (!statuses) return give_up(statuses.error());
    if (cache_ != nullptr) cache_->put_machine(machine_identity(site_), site_.device->measured_on());
    for (Work& work : work_) {
      const Status measured = measure(work, *statuses);
      if (measured) continue;
      give_up(measured.error());
      if (measured.error().code == ErrorCode::kCancelled || measured.error().code == ErrorCode::kDeviceLost)
        return;
    }
  }

  void give_up(const Error& why) {
    // What no measuring can tell will not be told by the next attempt either.
    if (why.code != ErrorCode::kUnsupported && why.code != ErrorCode::kInvalidArgument) out_.complete = false;
    if (why.code != ErrorCode::kCancelled) log_warning("not tuned: {}", why.message);
  }

  Status measure(Work& work, const std::vector<Status>& statuses) {
    TunedNest& tuned = work.tuned;
    EDGE_INFER_ASSIGN(const MeasuredCall call,
                      measured_call(*work.nest, tuned.rows, *site_.device, *site_.generator));
    std::vector<std::string> names;
    std::vector<size_t> which;
    for (size_t c = 0; c < work.plans.size(); ++c) {
      const size_t plan = work.plans[c];
      if (plan == kNone) continue;
      if (!statuses[plan]) {
        leave_out(*work.nest, tuned.candidates[c].schedule, statuses[plan].error());
        continue;
      }
      names.push_back(plans_[plan].name);
      which.push_back(c);
    }
    EDGE_INFER_ASSIGN(std::vector<Measurement> measured,
                      site_.device->measure(call, names, {.is_cancelled = is_cancelled_}));
    for (size_t i = 0; i < which.size(); ++i) {
      if (!measured[i].status)
        leave_out(*work.nest, tuned.candidates[which[i]].schedule, measured[i].status.error());
      else
        tuned.candidates[which[i]].nanoseconds = std::move(measured[i].nanoseconds);
    }
    if (!choose(tuned))
      return fail(ErrorCode::kUnsupported, "@{}: no candidate could be measured", tuned.name);
    if (cache_ != nullptr) store(work);
    out_.nests.push_back(std::move(tuned));
    return {};
  }

  void store(const Work& work) {
    std::vector<TuningRow> rows;
    for (const TunedNest::Candidate& candidate : work.tuned.candidates)
      rows.push_back({work.tuned.identity, site_.generator->target(), machine_identity(site_),
                      candidate.schedule, candidate.nanoseconds});
    cache_->put_tuning(rows);
    cache_->add_event("tuned", "tuning:@" + work.tuned.name, work.tuned.text());
  }

  const CompileSite& site_;
  KernelCache* cache_;
  const std::function<bool()>& is_cancelled_;
  TunedSchedules out_;
  std::set<std::string> known_;
  std::vector<Work> work_;
  std::vector<KernelPlan> plans_;  // distinct
  bool noted_ = false;
};

}  // namespace

std::string tuning_identity(const loop::LoopNest& nest, int64_t rows, const CompileSite& site) {
  return content_digest(fmt::format("{}\n{}\n{} {}\n{}", loop::print_identity(nest), rows,
                                    site.generator->version(), site.compiler->identity(),
                                    site.compiler->options()));
}

std::string TunedNest::text() const {
  const auto us = [](const Candidate& c) {
    return c.nanoseconds.empty() ? c.schedule + " failed"
                                 : fmt::format("{} {:.2f} us", c.schedule,
                                               static_cast<double>(std::ranges::min(c.nanoseconds)) / 1e3);
  };
  const std::string where = rows == 0           ? ""
                            : rows == INT64_MAX ? ", more rows"
                                                : fmt::format(", up to {} rows", rows);
  const std::string own = chosen == 0 ? " (own choice)" : fmt::format(", own choice {}", us(candidates[0]));
  return fmt::format("@{}{}: {}{}, {} candidates", name, where, us(candidates[chosen]), own,
                     candidates.size());
}

std::optional<TunedNest> stored_tuning(const loop::LoopNest& nest, int64_t rows, const CompileSite& site,
                                       KernelCache& cache) {
  const std::vector<Schedule> schedules = candidates_of(nest, rows, site);
  if (schedules.size() < 2) return std::nullopt;
  TunedNest tuned{.identity = tuning_identity(nest, rows, site), .name = nest.name, .rows = rows};
  const std::vector<TuningRow> stored =
      cache.find_tuning(tuned.identity, site.generator->target(), machine_identity(site));
  for (const Schedule& schedule : schedules) {
    const auto row = std::ranges::find(stored, schedule, &TuningRow::schedule);
    if (row == stored.end()) return std::nullopt;
    tuned.candidates.push_back({schedule, row->nanoseconds});
  }
  if (!choose(tuned)) return std::nullopt;
  return tuned;
}

Schedule stored_schedule(const loop::LoopNest& nest, int64_t rows, const CompileSite& site,
                         KernelCache& cache) {
  const std::optional<TunedNest> tuned = stored_tuning(nest, rows, site, cache);
  return tuned ? tuned->schedule() : own_choice(nest, rows, site);
}

Schedule TunedSchedules::find(const loop::LoopNest& nest, int64_t rows, const CompileSite& site) const {
  const std::string identity = tuning_identity(nest, rows, site);
  for (const TunedNest& tuned : nests)
    if (tuned.identity == identity) return tuned.schedule();
  return own_choice(nest, rows, site);
}

TunedSchedules tune_schedules(const CompiledGraph& graph, const CompileSite& site, KernelCache* cache,
                              const std::function<bool()>& is_cancelled) {
  return Tuning(site, cache, is_cancelled).run(graph);
}

}  // namespace edge_infer
