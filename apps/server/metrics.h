// Counters of the server in Prometheus' text form: the names of TEI, so that its dashboards work, and
// edge_infer_*. All members may be touched from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace edge_infer {

using Counter = std::atomic<uint64_t>;

class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);
  void observe(double value);
  void print(const std::string& name, const std::string& help, std::string& out) const;

 private:
  const std::vector<double> bounds_;  // ascending upper bounds; one more bucket, +Inf, follows
  std::vector<Counter> buckets_;
  std::atomic<double> sum_{0};
};

// Why a request was not answered with vectors; the values of TEI's label `err`.
enum class Failure { kOverloaded, kValidation, kBatchSize, kInference, kDropped };

struct Metrics {
  Metrics();

  // Every request that was handled is one of these, and in the end a success or a failure.
  Counter single_requests{0}, batch_requests{0}, unread_requests{0};
  Counter successes{0};
  std::array<Counter, 5> failures{};
  Counter inputs{0}, inputs_embedded{0}, truncated_inputs{0}, tokens{0};
  Counter batches{0}, batches_retried{0};
  Counter connections_total{0}, connections_refused{0};
  std::atomic<int64_t> connections{0}, queued_texts{0}, queued_tokens{0}, body_bytes{0};
  Histogram request_seconds, tokenization_seconds, queue_seconds, inference_seconds;
  Histogram input_tokens, batch_texts, batch_tokens;

  void count_failure(Failure failure) { ++failures[static_cast<size_t>(failure)]; }
  void count_response(int status);
  std::string print() const;

 private:
  mutable std::mutex mutex_;
  std::map<int, uint64_t> responses_;  // by status
};

}  // namespace edge_infer
