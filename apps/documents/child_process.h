// Runs a helper program on one open descriptor and collects what it writes, within limits. Safe in a host
// process: posix_spawn only (no fork), no signal handlers, no inherited descriptors, environment or process
// group.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

struct ChildRun {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // without the program's name
  int input = -1;                      // becomes the child's descriptor 0; stays the caller's here
  int64_t output_bytes = 0;            // most that it may write
  int64_t time_ms = 0;                 // wall-clock until SIGKILL
  std::function<bool()> stop = {};     // asked every 50 ms; true: SIGKILL
};

struct ChildOutcome {
  std::string output;
  // How it ended: exit status, or the signal that killed it (0: none). Unknown (status 0, signal 0) where the
  // host process reaps its children by itself.
  int status = 0, signal = 0;
  bool timed_out = false, too_much_output = false, stopped = false;
};

// Blocks until the child is gone: it never outlives the call. Errors: kInternal when the program cannot be
// started.
Result<ChildOutcome> run_child(const ChildRun& run);

}  // namespace edge_infer
