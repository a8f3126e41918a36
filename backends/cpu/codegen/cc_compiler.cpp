#include "backends/cpu/codegen/cc_compiler.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "backends/cpu/cc/cc_arguments.h"
#include "backends/cpu/cc/cc_identity.h"
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
        deadline_(Clock::now() + std::chrono::milliseconds(limits.batch_ms)) {}

  std::vector<Result<CompiledKernel>> run(CcUsage& usage) {
    refuse_large_sources();
    start_sessions();
    while (!sessions_.empty()) {
      for (CcSession& session : sessions_) feed(session);
      if (const Status status = wait(); !status) {
        for (CcSession& session : sessions_) retire(session, 0, status.error());
        sessions_.clear();
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
  void refuse_large_sources() {
    for (size_t i = 0; i < sources_.size(); ++i)
      if (sources_[i].source.size() > kCcMaxSourceBytes)
        results_[i] = fail(ErrorCode::kInvalidArgument, "a kernel source of {} bytes, expected at most {}",
                           sources_[i].source.size(), kCcMaxSourceBytes);
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
      sessions_.push_back(*std::move(session));
      ++usage_.processes;
    }
  }

  void feed(CcSession& session) {
    while (session.outstanding().size() < kAhead) {
      while (next_ < sources_.size() && results_[next_]) ++next_;
      if (next_ == sources_.size()) {
        session.finish();
        return;
      }
      const KernelSource& source = sources_[next_];
      session.send({.id = static_cast<uint32_t>(next_),
                    .target = source.target,
                    .features = source.features,
                    .source = source.source,
                    .assembly = source.keep_assembly});
      ++next_;
    }
  }

  // Until a session has something to say. Errors: the deadline, kCancelled.
  Status wait() const {
    std::vector<pollfd> events;
    for (const CcSession& session : sessions_) {
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
    std::vector<CcSession> alive;
    for (CcSession& session : sessions_) {
      const Status status = session.advance([this](CcReply reply) { take(std::move(reply)); });
      if (status && !session.ended()) {
        alive.push_back(std::move(session));
      } else if (status) {
        retire(session, kGraceMs, std::nullopt);
      } else {
        retire(session, 0, status.error());
      }
    }
    sessions_ = std::move(alive);
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
    if (session.outstanding().empty() && !why && next_ == sources_.size()) return;
    reason_ = why ? *why : std::move(end.reason);
    for (const uint32_t id : session.outstanding()) results_[id] = std::unexpected(reason_);
  }

  const std::filesystem::path& helper_;
  const CcLimits& limits_;
  std::span<const KernelSource> sources_;
  const std::function<bool()>& is_cancelled_;
  std::vector<std::optional<Result<CompiledKernel>>> results_;
  Clock::time_point deadline_;
  std::vector<CcSession> sessions_;
  size_t next_ = 0;
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
