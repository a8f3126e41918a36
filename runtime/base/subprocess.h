// Subprocess: a helper program, started so that it is safe in any host process: posix_spawn only (no fork),
// no signal handlers; the helper gets no descriptor, environment or process group of the host.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/error.h"

namespace edge_infer {

struct SubprocessSetup {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // without the program's name
  // What become its descriptors 0, 1 and 2; they stay the caller's here. -1: /dev/null (a sanitizer build
  // keeps the host's 2 instead). `output` and `error` are above 2 (above_standard).
  int input = -1, output = -1, error = -1;
};

// How a process ended: exit status, or the signal that killed it (0: none). Unknown (all 0) where the host
// process reaps its children by itself.
struct SubprocessEnd {
  int status = 0, signal = 0;
  double cpu_seconds = 0;
  int64_t peak_bytes = 0;  // resident memory
};

class Subprocess {
 public:
  // Its working directory is "/", its signals are the default ones. Errors: kInternal.
  static Result<Subprocess> start(const SubprocessSetup& setup);

  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&&) = delete;
  // Kills it, if wait() has not seen its end.
  ~Subprocess();

  void kill() const;
  // Waits `grace_ms` for its end, then kills it; back when it is gone.
  SubprocessEnd wait(int grace_ms);

  pid_t pid() const { return pid_; }

 private:
  Subprocess() = default;
  pid_t pid_ = -1;
  Descriptor handle_;  // a pidfd: cannot name another process, should the host reap its children by itself
};

// The descriptor itself or, where a host has closed its standard ones, a copy of it above 2.
// Errors: kResourceExhausted.
Result<Descriptor> above_standard(Descriptor descriptor);

}  // namespace edge_infer
