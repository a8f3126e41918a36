#include "apps/documents/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace edge_infer {
namespace {

using Clock = std::chrono::steady_clock;

struct Descriptor {
  int fd = -1;
  ~Descriptor() { reset(); }
  void reset() {
    if (fd >= 0) ::close(std::exchange(fd, -1));
  }
};

struct SpawnSetup {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnSetup() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
};

// Starts the program with `input` as 0 and `output` as 1; everything else is closed. Its own process group,
// so that a Ctrl-C at the terminal reaches the host alone.
Result<pid_t> start(const ChildRun& run, int output) {
  SpawnSetup setup;
  ::posix_spawn_file_actions_adddup2(&setup.actions, run.input, 0);
  ::posix_spawn_file_actions_adddup2(&setup.actions, output, 1);
#ifdef EDGE_INFER_SANITIZED
  ::posix_spawn_file_actions_addclosefrom_np(&setup.actions, 3);
#else
  ::posix_spawn_file_actions_addopen(&setup.actions, 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&setup.actions, 3);
#endif
  ::posix_spawn_file_actions_addchdir_np(&setup.actions, "/");
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&setup.attributes, &none);
  ::posix_spawnattr_setsigdefault(&setup.attributes, &all);
  ::posix_spawnattr_setpgroup(&setup.attributes, 0);
  ::posix_spawnattr_setflags(&setup.attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments = {const_cast<char*>(run.program.c_str())};
  for (const std::string& argument : run.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  // A zone by rule: the C library then reads no zone file.
  std::array<char*, 2> environment = {const_cast<char*>("TZ=UTC0"), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, run.program.c_str(), &setup.actions, &setup.attributes,
                                  arguments.data(), environment.data());
  if (error != 0)
    return fail(ErrorCode::kInternal, "cannot start the document reader \"{}\": {}", run.program.native(),
                std::strerror(error));
  return pid;
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left + 1, 0, 1 << 30));
}

// Reads to the end of the pipe, the deadline or the limit.
void collect(int pipe, const ChildRun& run, Clock::time_point deadline, ChildOutcome& outcome) {
  std::array<char, 65536> buffer;
  while (true) {
    pollfd wait{pipe, POLLIN, 0};
    const int ready = ::poll(&wait, 1, milliseconds_until(deadline));
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
  const Descriptor from{ends[0]};
  Descriptor to{ends[1]};
  if (to.fd < 3) {
    // In a host that closed its standard descriptors the pipe may be one of those that the child's are put
    // on.
    const int moved = ::fcntl(to.fd, F_DUPFD_CLOEXEC, 3);
    if (moved < 0)
      return fail(ErrorCode::kResourceExhausted, "cannot make a pipe for the document reader: {}",
                  std::strerror(errno));
    to.reset();
    to.fd = moved;
  }
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(run.time_ms);
  EDGE_INFER_ASSIGN(const pid_t pid, start(run, to.fd));
  to.reset();
#ifdef SYS_pidfd_open
  // A handle that cannot name another process, should the host reap its children by itself.
  const Descriptor handle{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
#else
  const Descriptor handle;
#endif
  const auto kill_child = [&] {
#ifdef SYS_pidfd_send_signal
    if (handle.fd >= 0) {
      ::syscall(SYS_pidfd_send_signal, handle.fd, SIGKILL, nullptr, 0);
      return;
    }
#endif
    ::kill(pid, SIGKILL);
  };
  ChildOutcome outcome;
  try {
    collect(from.fd, run, deadline, outcome);
  } catch (const std::bad_alloc&) {
    outcome.too_much_output = true;
  }
  // The pipe closes when the child ends; one that closed it by itself and lives on gets a moment to leave.
  const bool ended = !outcome.timed_out && !outcome.too_much_output;
  if (ended && handle.fd >= 0) {
    pollfd wait{handle.fd, POLLIN, 0};
    const int grace = std::min(milliseconds_until(deadline), 1000);
    while (::poll(&wait, 1, grace) < 0 && errno == EINTR) {
    }
    if ((wait.revents & POLLIN) == 0) kill_child();
  } else if (!ended) {
    kill_child();
  }
  int status = 0;
  pid_t waited;
  while ((waited = ::waitpid(pid, &status, 0)) < 0 && errno == EINTR) {
  }
  if (waited == pid) {
    outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  }
  return outcome;
}

}  // namespace edge_infer
