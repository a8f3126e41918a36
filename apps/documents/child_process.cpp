#include "apps/documents/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>

#include "runtime/base/subprocess.h"

namespace edge_infer {
namespace {

using Clock = std::chrono::steady_clock;

// How often ChildRun::stop is asked.
constexpr int kStopIntervalMs = 50;

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left + 1, 0, 1 << 30));
}

// Reads to the end of the pipe, the deadline, the limit or the wish to stop.
void collect(int pipe, const ChildRun& run, Clock::time_point deadline, ChildOutcome& outcome) {
  std::array<char, 65536> buffer;
  while (true) {
    pollfd wait{pipe, POLLIN, 0};
    if (run.stop && run.stop()) {
      outcome.stopped = true;
      return;
    }
    const int left = milliseconds_until(deadline);
    const int ready = ::poll(&wait, 1, run.stop ? std::min(left, kStopIntervalMs) : left);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      outcome.timed_out = Clock::now() >= deadline;
      if (ready < 0 || outcome.timed_out) return;
      continue;
    }
    const ssize_t n = ::read(pipe, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    if (static_cast<int64_t>(outcome.output.size()) + n > run.output_bytes) {
      outcome.too_much_output = true;
      return;
    }
    outcome.output.append(buffer.data(), static_cast<size_t>(n));
  }
}

}  // namespace

Result<ChildOutcome> run_child(const ChildRun& run) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(ErrorCode::kResourceExhausted, "cannot make a pipe for the document reader: {}",
                std::strerror(errno));
  const Descriptor from(ends[0]);
  EDGE_INFER_ASSIGN(Descriptor to, above_standard(Descriptor(ends[1])));
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(run.time_ms);
  EDGE_INFER_ASSIGN(
      Subprocess child,
      Subprocess::start(
          {.program = run.program, .arguments = run.arguments, .input = run.input, .output = to.get()}));
  to.reset();
  ChildOutcome outcome;
  try {
    collect(from.get(), run, deadline, outcome);
  } catch (const std::bad_alloc&) {
    outcome.too_much_output = true;
  }
  // The pipe closes when the child ends; one that closed it by itself and lives on gets a moment to leave.
  const bool ended = !outcome.timed_out && !outcome.too_much_output && !outcome.stopped;
  const SubprocessEnd end = child.wait(ended ? std::clamp(milliseconds_until(deadline), 1, 1000) : 0);
  outcome.signal = end.signal;
  outcome.status = end.status;
  return outcome;
}

}  // namespace edge_infer
