// Where the time of a forward pass goes: each call of the program, against what the hardware can do at most.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/cost.h"
#include "models/model_embedder.h"

namespace edge_infer {

struct PassProfile {
  struct Kernel {
    std::string name;
    int64_t nanoseconds = 0;  // the best of all passes
    CallCost cost;
  };
  std::string device;  // of the program, as its target names it
  int64_t length = 0, batch = 0;
  bool is_one_worker = true;    // the executor would share the rows out to more of them
  std::vector<Kernel> kernels;  // those that ran, in order
  DevicePeak peak;
};

// Profiles passes over `batch` texts of `length` tokens for that many seconds, at least one, with the entry
// that serves calls now. Runs on one worker on a processor.
Result<PassProfile> profile_pass(const ModelEmbedder& embedder, int64_t length, int64_t batch,
                                 double seconds);

// A line a kernel: time, share, calls, and which part of the time the roofline allows for where the
// hardware's limits are known. Over 100 %: the data came from a cache.
void print_profile(const PassProfile& profile);

// The passes in the Trace Event Format's JSON (Google, "Trace Event Format"), each as a thread of its own
// with a complete event a call. Errors: kIoError with the file's name.
Status write_trace(const std::filesystem::path& file, const std::vector<PassProfile>& profiles);

}  // namespace edge_infer
