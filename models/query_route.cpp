#include "models/query_route.h"

#include <algorithm>
#include <utility>

#include "runtime/base/hash.h"
#include "runtime/base/log.h"

namespace edge_infer {
namespace {

// The accelerator keeps what is not clearly the processor's: a difference within noise is worth nothing.
constexpr double kClearly = 0.9;

std::string schedule_of(const char* side, int64_t tokens) {
  return fmt::format("{}:{}", side, tokens);
}

std::string row_identity(const QueryRouteOptions& options) {
  return content_digest("single query;" + options.identity);
}
std::string row_machine(const QueryRouteOptions& options) {
  return content_digest(options.machine).substr(0, 32);
}

}  // namespace

int64_t host_tokens(std::span<const QueryTime> times) {
  int64_t threshold = 0;
  for (const QueryTime& time : times) {
    if (static_cast<double>(time.host_ns) >= kClearly * static_cast<double>(time.device_ns)) break;
    threshold = time.tokens;
  }
  return threshold;
}

QueryRoute::QueryRoute(const PackRunner& device, QueryRouteOptions options)
    : device_(device), options_(std::move(options)) {
  if (auto known = stored()) {
    times_ = *std::move(known);
    settled_ = host_tokens(times_) == 0;
    if (!settled_ && options_.device_answers()) settle(std::chrono::milliseconds(0));
  }
}

std::optional<std::vector<QueryTime>> QueryRoute::stored() const {
  if (options_.cache == nullptr) return std::nullopt;
  const std::vector<TuningRow> rows =
      options_.cache->find_tuning(row_identity(options_), options_.target, row_machine(options_));
  const auto best = [&](const std::string& schedule) -> int64_t {
    const auto row = std::ranges::find(rows, schedule, &TuningRow::schedule);
    return row == rows.end() || row->nanoseconds.empty() ? 0 : std::ranges::min(row->nanoseconds);
  };
  std::vector<QueryTime> times;
  for (const int64_t tokens : kLengths) {
    const QueryTime time{tokens, best(schedule_of("accelerator", tokens)),
                         best(schedule_of("processor", tokens))};
    if (time.device_ns <= 0 || time.host_ns <= 0) return std::nullopt;
    times.push_back(time);
  }
  return times;
}

void QueryRoute::store(std::span<const QueryTime> times) const {
  if (options_.cache == nullptr) return;
  options_.cache->put_machine(row_machine(options_), options_.machine);
  for (const QueryTime& time : times)
    for (const auto& [side, ns] :
         {std::pair("accelerator", time.device_ns), std::pair("processor", time.host_ns)})
      options_.cache->put_tuning({row_identity(options_),
                                  options_.target,
                                  row_machine(options_),
                                  schedule_of(side, time.tokens),
                                  {ns}});
}

Status QueryRoute::open_host() {
  if (host_module_ != nullptr) return {};
  EDGE_INFER_ASSIGN(std::unique_ptr<Module> module, options_.open_host());
  host_ = options_.make_runner(*module);
  host_module_ = std::move(module);
  return {};
}

Result<std::vector<QueryTime>> QueryRoute::measure() const {
  std::vector<QueryTime> times;
  for (const int64_t tokens : kLengths) {
    QueryTime time{tokens, INT64_MAX, INT64_MAX};
    // Interleaved, so that a machine that slows down slows both; the first round only warms up.
    for (int round = -1; round < kRounds; ++round) {
      EDGE_INFER_ASSIGN(const int64_t device_ns, options_.time_call(device_, tokens));
      EDGE_INFER_ASSIGN(const int64_t host_ns, options_.time_call(*host_, tokens));
      if (round < 0) continue;
      time.device_ns = std::min(time.device_ns, device_ns);
      time.host_ns = std::min(time.host_ns, host_ns);
    }
    times.push_back(time);
  }
  return times;
}

bool QueryRoute::settle(std::chrono::milliseconds limit) {
  const std::lock_guard lock(mutex_);
  if (settled_) return true;
  const auto give_up = [&](const std::string& why) {
    log_info("single queries stay on the accelerator: {}", why);
    settled_ = true;
    return true;
  };
  if (!options_.device_answers()) return give_up("it does not answer");
  if (const Status opened = open_host(); !opened) return give_up(opened.error().message);
  if (!host_module_->finish(limit)) return false;
  if (times_.empty()) {
    Result<std::vector<QueryTime>> times = measure();
    if (!times) return give_up(times.error().message);
    // A device that was lost meanwhile was not what was timed.
    if (!options_.device_answers()) return give_up("it does not answer any more");
    store(*times);
    times_ = *std::move(times);
  }
  settled_ = true;
  threshold_.store(host_tokens(times_), std::memory_order_release);
  if (threshold() == 0) {
    host_.reset();
    host_module_.reset();
  }
  return true;
}

const PackRunner* QueryRoute::choose(int64_t tokens) const {
  return tokens <= threshold_.load(std::memory_order_acquire) ? host_.get() : nullptr;
}

std::vector<QueryTime> QueryRoute::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

}  // namespace edge_infer
