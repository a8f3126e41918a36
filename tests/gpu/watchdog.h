// Ends the process when a kernel hangs: it cannot be stopped, and the machine is paid by the minute.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace edge_infer::test {

class Watchdog {
 public:
  // What a single kernel may take. Set before the first Watchdog is made; compute-sanitizer makes kernels
  // many times slower.
  static inline std::chrono::seconds patience{30};

  // Waits `times` the patience.
  explicit Watchdog(std::string what, int times = 1)
      : thread_([this, what = std::move(what), limit = times * patience] {
          std::unique_lock lock(mutex_);
          if (finished_.wait_for(lock, limit, [this] { return done_; })) return;
          std::printf("FAIL %s: no end after %lld s\n", what.c_str(), static_cast<long long>(limit.count()));
          std::fflush(stdout);
          std::_Exit(1);
        }) {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    {
      const std::scoped_lock lock(mutex_);
      done_ = true;
    }
    finished_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable finished_;
  bool done_ = false;
  std::jthread thread_;
};

}  // namespace edge_infer::test
