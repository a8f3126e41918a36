// Single flight: one compilation of a kernel at a time, over threads and processes.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "runtime/base/mapped_file.h"
#include "runtime/cache/cache_state.h"

namespace edge_infer {
namespace {

using cache::CacheState;
using cache::now_ms;
using cache::Query;

constexpr std::chrono::milliseconds kPoll{20};

struct ProcessState {
  // When it started, in the kernel's ticks; tells a process from a later one of the same number. 0: unknown.
  int64_t start = 0;
  // It has ended, though nobody may have waited for it yet: a killed process keeps its number until then.
  bool has_ended = false;
};

ProcessState state_of(int64_t pid) {
  const std::string stat = read_file(fmt::format("/proc/{}/stat", pid), 4096).value_or("");
  // The name, in parentheses, may hold anything; the state is behind it, field 22 the twentieth.
  size_t at = stat.rfind(')');
  if (at == std::string::npos || at + 2 >= stat.size()) return {};
  ProcessState state;
  state.has_ended = stat[at + 2] == 'Z' || stat[at + 2] == 'X';
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  if (at != std::string::npos) std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), state.start);
  return state;
}

int64_t own_start() {
  static const int64_t start = state_of(::getpid()).start;
  return start;
}

bool is_alive(int64_t pid, int64_t start) {
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return false;
  const ProcessState state = state_of(pid);
  return !state.has_ended && state.start == start;
}

// Whether someone who lives holds the claim on `id`, within his time.
Result<bool> is_held(CacheState& state, const std::string& id) {
  EDGE_INFER_ASSIGN(Query q,
                    state.connection().query("SELECT pid, started, deadline_ms FROM claim WHERE id = ?"));
  EDGE_INFER_ASSIGN(const bool there, q.bind(id).step());
  return there && q.integer(2) > now_ms() && is_alive(q.integer(0), q.integer(1));
}

// Those of `ids` that are now this process'; inside a transaction.
Status take(CacheState& state, const std::vector<std::string>& ids, std::chrono::milliseconds deadline,
            std::vector<bool>& taken) {
  for (size_t i = 0; i < ids.size(); ++i) {
    taken[i] = false;
    if (state.in_flight.contains(ids[i])) continue;
    EDGE_INFER_ASSIGN(const bool stored, state.is_stored(ids[i]));
    if (stored) continue;
    EDGE_INFER_ASSIGN(const bool held, is_held(state, ids[i]));
    if (held) continue;
    EDGE_INFER_ASSIGN(Query q, state.connection().query("INSERT OR REPLACE INTO claim VALUES(?, ?, ?, ?)"));
    EDGE_INFER_RETURN_IF_ERROR(
        q.bind(ids[i]).bind(int64_t{::getpid()}).bind(own_start()).bind(now_ms() + deadline.count()).run());
    taken[i] = true;
  }
  return {};
}

}  // namespace

KernelClaim KernelCache::claim(std::span<const KernelKey> keys, std::chrono::milliseconds deadline) {
  KernelClaim claim(state_, deadline);
  if (keys.empty()) return claim;
  std::vector<std::string> ids;
  for (const KernelKey& key : keys) ids.push_back(key.id());
  const std::lock_guard lock(state_->mutex);
  claim.number_ = ++state_->claims;
  std::vector<bool> taken(ids.size());
  if (!state_->write("claiming kernels", [&] { return take(*state_, ids, deadline, taken); }))
    for (size_t i = 0; i < ids.size(); ++i)
      taken[i] = !state_->in_flight.contains(ids[i]) && !state_->unsaved.contains(ids[i]);
  for (size_t i = 0; i < ids.size(); ++i)
    // A key that is in the list twice is claimed once.
    if (taken[i] && state_->in_flight.emplace(ids[i], claim.number_).second) claim.owned_.push_back(keys[i]);
  return claim;
}

KernelClaim::Outcome KernelClaim::wait(const KernelKey& key, std::chrono::milliseconds timeout) {
  const std::string id = key.id();
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::unique_lock lock(state_->mutex);
  while (true) {
    if (state_->load_kernel(id, &key)) return Outcome::kStored;
    if (!state_->in_flight.contains(id)) {
      bool held = false;
      std::vector<bool> taken(1);
      const bool works = state_->attempt("reading a claim", [&]() -> Status {
        EDGE_INFER_ASSIGN(held, is_held(*state_, id));
        return {};
      });
      if (works && !held &&
          !state_->write("claiming a kernel", [&] { return take(*state_, {id}, deadline_, taken); }))
        taken[0] = true;
      if (!works || taken[0]) {
        state_->in_flight.emplace(id, number_);
        owned_.push_back(key);
        return Outcome::kOwned;
      }
    }
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) return Outcome::kTimeout;
    state_->changed.wait_until(lock, std::min(end, now + kPoll));
  }
}

KernelClaim::~KernelClaim() {
  if (state_ == nullptr) return;
  {
    const std::lock_guard lock(state_->mutex);
    std::vector<std::string> left;
    for (const KernelKey& key : owned_) {
      const auto held = state_->in_flight.find(key.id());
      if (held == state_->in_flight.end() || held->second != number_) continue;
      left.push_back(held->first);
      state_->in_flight.erase(held);
    }
    if (!left.empty())
      state_->write("releasing claims", [&]() -> Status {
        for (const std::string& id : left) {
          EDGE_INFER_ASSIGN(Query q, state_->connection().query(
                                         "DELETE FROM claim WHERE id = ? AND pid = ? AND started = ?"));
          EDGE_INFER_RETURN_IF_ERROR(q.bind(id).bind(int64_t{::getpid()}).bind(own_start()).run());
        }
        return {};
      });
  }
  state_->changed.notify_all();
}

}  // namespace edge_infer
