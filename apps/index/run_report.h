// What a run tells its observer and counts for its summary.
#pragma once

#include <chrono>
#include <mutex>

#include "apps/index/part.h"
#include "apps/index/pipeline.h"

namespace edge_infer {

// Thread-safe; calls of the observer come one at a time.
class RunReport {
 public:
  explicit RunReport(IndexObserver& observer) : observer_(observer) {}

  // A file that must be read: part of the work from which the time left is told.
  void expect(const FileTask& task);
  // A path that holds nothing to read.
  void refuse(const RefusedPath& path);
  // A path that was given, does not exist and never did.
  void miss(const std::string& path);
  // Passages of a part have their vectors.
  void embedded(const Part& part);
  // The run is done with a file.
  void end(FileTask& task);
  void deleted(int64_t files);
  // The last progress event, and the totals.
  IndexSummary finish(bool cancelled);

 private:
  using Clock = std::chrono::steady_clock;
  void count_bytes(FileTask& task, double bytes);
  void send(const FileEvent& event);
  void send_progress(bool always);

  IndexObserver& observer_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  IndexSummary summary_;
  int64_t files_expected_ = 0, files_expected_done_ = 0;
  // Of files that are indexed or being so: passages with vectors, and tokens that were embedded for them.
  int64_t chunks_done_ = 0, tokens_done_ = 0;
  double bytes_expected_ = 0, bytes_done_ = 0;
  Clock::time_point next_progress_ = start_;
};

}  // namespace edge_infer
