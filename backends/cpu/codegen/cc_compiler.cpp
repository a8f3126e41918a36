#include "backends/cpu/codegen/cc_compiler.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>

#include "backends/cpu/cc/cc_arguments.h"
#include "backends/cpu/cc/cc_identity.h"
#include "backends/cpu/cc/units.h"
#include "backends/cpu/codegen/cc_session.h"
#include "runtime/base/cpu.h"
#include "runtime/base/paths.h"

namespace edge_infer {
namespace {

using Clock = std::chrono::steady_clock;

// One compile(): requests are handed out in order, each session having this many ahead, so that none waits
// for the client and the sessions end at about the same time.
constexpr size_t kAhead = 2;
constexpr size_t kKernelsForTwoProcesses = 4;
// So many kernels of one shared unit are worth compiling it in a second process.
constexpr size_t kKernelsForUnitTwice = 12;
constexpr int kGraceMs = 2000;
constexpr int kCancelPollMs = 20;

class Batch {
 public:
  Batch(const std::filesystem::path& helper, const CcLimits& limits, std::span<const KernelSource> sources,
        const std::function<bool()>& is_cancelled)
      : helper_(helper),
        limits_(limits),
        sources_(sources),
        is_cancelled_(is_cancelled),
        results_(sources.size()),
        sent_(sources.size()),
        left_(sources.size()),
        deadline_(Clock::now() + std::chrono::milliseconds(limits.batch_ms)) {}

  std::vector<Result<CompiledKernel>> run(CcUsage& usage) {
    refuse_large_sources();
    start_sessions();
    while (!workers_.empty()) {
      for (Worker& worker : workers_) feed(worker);
      if (const Status status = wait(); !status) {
        for (Worker& worker : workers_) retire(worker.session, 0, status.error());
        workers_.clear();
        break;
      }
      advance();
    }
    usage = usage_;
    std::vector<Result<CompiledKernel>> results;
    for (std::optional<Result<CompiledKernel>>& result : results_)
      results.push_back(result ? *std::move(result) : std::unexpected(reason_));
    return results;
  }

 private:
  struct Worker {
    CcSession session;
    std::set<std::string_view> units;  // shared ones that it has compiled
  };

  void refuse_large_sources() {
    for (size_t i = 0; i < sources_.size(); ++i)
      if (sources_[i].source.size() > kCcMaxSourceBytes) {
        results_[i] = fail(ErrorCode::kInvalidArgument, "a kernel source of {} bytes, expected at most {}",
                           sources_[i].source.size(), kCcMaxSourceBytes);
        mark_sent(i);
      }
  }

  void mark_sent(size_t i) {
    sent_[i] = true;
    --left_;
  }

  void start_sessions() {
    int count = std::min(limits_.processes, worker_budget());
    if (sources_.size() < kKernelsForTwoProcesses) count = 1;
    for (int i = 0; i < std::max(count, 1); ++i) {
      Result<CcSession> session = CcSession::start(helper_, limits_.memory_bytes, limits_.cpu_seconds);
      if (!session) {
        reason_ = std::move(session).error();
        break;
      }
      workers_.push_back({.session = *std::move(session), .units = {}});
      ++usage_.processes;
    }
  }

  static std::vector<std::string_view> shared_units(const KernelSource& source) {
    std::vector<std::string_view> units = split_units(source.source);
    units.erase(units.begin());
    return units;
  }

  // Whether another process has a shared unit of the source that this one has not.
  bool is_cheaper_elsewhere(const Worker& worker, const KernelSource& source) const {
    return std::ranges::any_of(shared_units(source), [&](std::string_view unit) {
      return !worker.units.contains(unit) &&
             std::ranges::any_of(workers_, [&](const Worker& other) { return other.units.contains(unit); });
    });
  }

  std::optional<size_t> next_source(const Worker& worker) const {
    std::optional<size_t> other;
    size_t others = 0;
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (sent_[i]) continue;
      if (!is_cheaper_elsewhere(worker, sources_[i])) return i;
      if (others++ == 0) other = i;
    }
    return others >= kKernelsForUnitTwice ? other : std::nullopt;
  }

  void feed(Worker& worker) {
    while (worker.session.outstanding().size() < kAhead) {
      const std::optional<size_t> next = next_source(worker);
      if (!next) {
        // One whose kernels are cheaper elsewhere waits, in case that process dies.
        if (left_ == 0) worker.session.finish();
        return;
      }
      const KernelSource& source = sources_[*next];
      worker.session.send({.id = static_cast<uint32_t>(*next),
                           .target = source.target,
                           .features = source.features,
                           .source = source.source,
                           .assembly = source.keep_assembly});
      mark_sent(*next);
      for (const std::string_view unit : shared_units(source)) worker.units.insert(unit);
    }
  }

  // Until a session has something to say. Errors: the deadline, kCancelled.
  Status wait() const {
    std::vector<pollfd> events;
    for (const auto& [session, units] : workers_) {
      events.push_back(
          {session.socket(), static_cast<short>(POLLIN | (session.wants_to_write() ? POLLOUT : 0)), 0});
      events.push_back({session.error_pipe(), POLLIN, 0});
    }
    while (true) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      if (left <= 0)
        return fail(ErrorCode::kResourceExhausted, "compiling took longer than {} ms", limits_.batch_ms);
      if (is_cancelled_ && is_cancelled_()) return fail(ErrorCode::kCancelled, "compilation was cancelled");
      const int64_t most = is_cancelled_ ? kCancelPollMs : 60'000;
      const int ready = ::poll(events.data(), events.size(), static_cast<int>(std::min<int64_t>(left, most)));
      if (ready > 0) return {};
      if (ready < 0 && errno != EINTR)
        return fail(ErrorCode::kInternal, "poll of the kernel compiler: {}", std::strerror(errno));
    }
  }

  void advance() {
    std::vector<Worker> alive;
    for (Worker& worker : workers_) {
      const Status status = worker.session.advance([this](CcReply reply) { take(std::move(reply)); });
      if (status && !worker.session.ended()) {
        alive.push_back(std::move(worker));
      } else if (status) {
        retire(worker.session, kGraceMs, std::nullopt);
      } else {
        retire(worker.session, 0, status.error());
      }
    }
    workers_ = std::move(alive);
  }

  void take(CcReply reply) {
    std::optional<Result<CompiledKernel>>& result = results_[reply.id];
    if (!reply.blob) {
      result = std::unexpected(std::move(reply.blob).error());
      return;
    }
    CompiledKernel kernel{*std::move(reply.blob), std::move(reply.assembly), reply.seconds};
    kernel.blob.scratch_bytes = sources_[reply.id].scratch_bytes;
    result = std::move(kernel);
  }

  // Sees the session's process end; what it has not answered fails with `why`, or with how it ended.
  void retire(CcSession& session, int grace_ms, const std::optional<Error>& why) {
    CcSession::End end = session.end(grace_ms);
    usage_.cpu_seconds += end.cpu_seconds;
    usage_.peak_bytes = std::max(usage_.peak_bytes, end.peak_bytes);
    if (session.outstanding().empty() && !why && left_ == 0) return;
    reason_ = why ? *why : std::move(end.reason);
    for (const uint32_t id : session.outstanding()) results_[id] = std::unexpected(reason_);
  }

  const std::filesystem::path& helper_;
  const CcLimits& limits_;
  std::span<const KernelSource> sources_;
  const std::function<bool()>& is_cancelled_;
  std::vector<std::optional<Result<CompiledKernel>>> results_;
  std::vector<bool> sent_;
  size_t left_;  // not sent
  Clock::time_point deadline_;
  std::vector<Worker> workers_;
  Error reason_;  // of sources that no session was left for
  CcUsage usage_;
};

}  // namespace

std::filesystem::path CcCompiler::find_helper() {
  const std::filesystem::path own = own_folder();
  std::error_code error;
  if (const auto beside = own / "edge-infer-cc"; std::filesystem::exists(beside, error)) return beside;
  return own.parent_path() / "bin" / "edge-infer-cc";
}

std::string CcCompiler::identity() const {
  return std::string(cc_identity());
}

std::string CcCompiler::options() const {
  return std::string(kCcOptions);
}

Status CcCompiler::available() const {
  if (::access(helper_.c_str(), X_OK) != 0)
    return fail(ErrorCode::kUnsupported, "no kernel compiler at \"{}\": {}", helper_.native(),
                std::strerror(errno));
  return {};
}

std::vector<Result<CompiledKernel>> CcCompiler::compile(std::span<const KernelSource> sources,
                                                        const std::function<bool()>& is_cancelled) {
  usage_ = {};
  if (sources.empty()) return {};
  if (const Status status = available(); !status)
    return std::vector<Result<CompiledKernel>>(sources.size(), std::unexpected(status.error()));
  return Batch(helper_, limits_, sources, is_cancelled).run(usage_);
}

}  // namespace edge_infer
