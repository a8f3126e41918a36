// StartTimes: where the time until a device's first program is ready goes. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace edge_infer::cuda {

class StartTimes {
 public:
  enum Part {
    kContext,  // driver and context
    kModules,  // kernels: from cubin to function
    kUpload,   // weights on their way; beside the others
    kWait,     // of it, what binding had to wait for in the end
    kGraphs,   // memory of the first execution, graphs
    kParts,
  };
  void add(Part part, std::chrono::nanoseconds time) {
    times_[part].fetch_add(time.count(), std::memory_order_relaxed);
  }
  void add_upload(size_t bytes) { upload_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  double milliseconds(Part part) const { return static_cast<double>(times_[part].load()) / 1e6; }
  // "context 203.1 ms, 17 kernels 8.2 ms, weights 70.1 MB in 19.4 ms of which 2.0 ms were waited for, graphs
  // 11.0 ms".
  std::string text(size_t kernels) const;

 private:
  std::array<std::atomic<int64_t>, kParts> times_{};
  std::atomic<size_t> upload_bytes_{0};
};

// Adds the time until its destruction.
class StartTimer {
 public:
  StartTimer(StartTimes& times, StartTimes::Part part) : times_(times), part_(part) {}
  StartTimer(const StartTimer&) = delete;
  StartTimer& operator=(const StartTimer&) = delete;
  ~StartTimer() { times_.add(part_, std::chrono::steady_clock::now() - begin_); }

 private:
  StartTimes& times_;
  const StartTimes::Part part_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace edge_infer::cuda
