#include "runtime/base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace edge_infer {
namespace {

struct SpawnSetup {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnSetup() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  void put(int fd, int at, int flags) {
    if (fd >= 0) {
      ::posix_spawn_file_actions_adddup2(&actions, fd, at);
    } else {
      ::posix_spawn_file_actions_addopen(&actions, at, "/dev/null", flags, 0);
    }
  }
};

}  // namespace

Result<Subprocess> Subprocess::start(const SubprocessSetup& setup) {
  SpawnSetup spawn;
  spawn.put(setup.input, 0, O_RDONLY);
  spawn.put(setup.output, 1, O_WRONLY);
#ifdef EDGE_INFER_SANITIZED
  if (setup.error >= 0)
#endif
    spawn.put(setup.error, 2, O_WRONLY);
  ::posix_spawn_file_actions_addclosefrom_np(&spawn.actions, 3);
  ::posix_spawn_file_actions_addchdir_np(&spawn.actions, "/");
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&spawn.attributes, &none);
  ::posix_spawnattr_setsigdefault(&spawn.attributes, &all);
  // A process group of its own, so that a Ctrl-C at the terminal reaches the host alone.
  ::posix_spawnattr_setpgroup(&spawn.attributes, 0);
  ::posix_spawnattr_setflags(&spawn.attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments = {const_cast<char*>(setup.program.c_str())};
  for (const std::string& argument : setup.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  // A zone by rule: the C library then reads no zone file.
  std::array<char*, 2> environment = {const_cast<char*>("TZ=UTC0"), nullptr};
  Subprocess process;
  const int error = ::posix_spawn(&process.pid_, setup.program.c_str(), &spawn.actions, &spawn.attributes,
                                  arguments.data(), environment.data());
  if (error != 0) {
    process.pid_ = -1;
    return fail(ErrorCode::kInternal, "cannot start \"{}\": {}", setup.program.native(),
                std::strerror(error));
  }
#ifdef SYS_pidfd_open
  process.handle_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process.pid_, 0)));
#endif
  return process;
}

Subprocess::Subprocess(Subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), handle_(std::move(other.handle_)) {}

Subprocess::~Subprocess() {
  wait(0);
}

void Subprocess::kill() const {
  if (pid_ < 0) return;
#ifdef SYS_pidfd_send_signal
  if (handle_) {
    ::syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0);
    return;
  }
#endif
  ::kill(pid_, SIGKILL);
}

SubprocessEnd Subprocess::wait(int grace_ms) {
  SubprocessEnd end;
  if (pid_ < 0) return end;
  bool ended = false;
  if (handle_ && grace_ms > 0) {
    pollfd poll_end{handle_.get(), POLLIN, 0};
    while (::poll(&poll_end, 1, grace_ms) < 0 && errno == EINTR) {
    }
    ended = (poll_end.revents & POLLIN) != 0;
  } else if (grace_ms > 0) {
    ended = true;  // without a handle its end cannot be waited for with a limit
  }
  if (!ended) kill();
  int status = 0;
  rusage usage{};
  pid_t waited;
  while ((waited = ::wait4(pid_, &status, 0, &usage)) < 0 && errno == EINTR) {
  }
  if (waited == pid_) {
    end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    end.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    end.peak_bytes = int64_t{usage.ru_maxrss} * 1024;
  }
  pid_ = -1;
  handle_.reset();
  return end;
}

Result<Descriptor> above_standard(Descriptor descriptor) {
  if (descriptor.get() > 2) return descriptor;
  Descriptor moved(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 3));
  if (!moved)
    return fail(ErrorCode::kResourceExhausted, "no descriptor is left for a helper: {}",
                std::strerror(errno));
  return moved;
}

}  // namespace edge_infer
