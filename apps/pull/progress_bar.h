// A pull's progress on standard error: one line that is redrawn on a terminal, else one line a file.
#pragma once

#include <chrono>
#include <string>

#include "apps/pull/pull_model.h"

namespace edge_infer {

class ProgressBar final : public PullProgress {
 public:
  explicit ProgressBar(bool terminal) : terminal_(terminal) {}
  void start(const std::string& name, size_t files, uint64_t total_bytes) override;
  void file_start(const std::string& file, uint64_t total_bytes, uint64_t resumed_bytes) override;
  void file_bytes(uint64_t done_bytes) override;
  void file_end(const std::string& file, uint64_t bytes) override;
  void wait(const std::string& why, int64_t wait_ms) override;

 private:
  using Clock = std::chrono::steady_clock;
  void draw(uint64_t done_bytes);

  const bool terminal_;
  std::string file_;
  uint64_t total_ = 0, resumed_ = 0;
  Clock::time_point begin_, drawn_;
};

}  // namespace edge_infer
