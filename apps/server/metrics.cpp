#include "apps/server/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace edge_infer {
namespace {

constexpr const char* kFailureNames[] = {"overloaded", "validation", "batch_size", "inference", "dropped"};

std::vector<double> seconds() {
  return {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60};
}
std::vector<double> powers_of_two(int last) {
  std::vector<double> bounds;
  for (int i = 0; i <= last; ++i) bounds.push_back(static_cast<double>(int64_t{1} << i));
  return bounds;
}

void head(const char* name, const char* type, const char* help, std::string& out) {
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}
void value(const char* name, const char* type, const char* help, int64_t number, std::string& out) {
  head(name, type, help, out);
  out += fmt::format("{} {}\n", name, number);
}
void counter(const char* name, const char* help, const Counter& number, std::string& out) {
  value(name, "counter", help, static_cast<int64_t>(number.load()), out);
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), buckets_(bounds_.size() + 1) {}

void Histogram::observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  buckets_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  double sum = sum_.load(std::memory_order_relaxed);
  while (!sum_.compare_exchange_weak(sum, sum + value, std::memory_order_relaxed)) {
  }
}

void Histogram::print(const std::string& name, const std::string& help, std::string& out) const {
  head(name.c_str(), "histogram", help.c_str(), out);
  uint64_t count = 0;
  for (size_t i = 0; i < bounds_.size(); ++i) {
    count += buckets_[i].load(std::memory_order_relaxed);
    out += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, bounds_[i], count);
  }
  count += buckets_.back().load(std::memory_order_relaxed);
  out += fmt::format("{}_bucket{{le=\"+Inf\"}} {}\n{}_sum {}\n{}_count {}\n", name, count, name,
                     sum_.load(std::memory_order_relaxed), name, count);
}

Metrics::Metrics()
    : request_seconds(seconds()),
      tokenization_seconds(seconds()),
      queue_seconds(seconds()),
      inference_seconds(seconds()),
      input_tokens(powers_of_two(16)),
      batch_texts(powers_of_two(11)),
      batch_tokens(powers_of_two(16)) {}

void Metrics::count_response(int status) {
  const std::lock_guard lock(mutex_);
  ++responses_[status];
}

std::string Metrics::print() const {
  std::string out;
  head("te_request_count", "counter",
       "embedding requests; unread: that failed before their inputs were known", out);
  for (const auto& [method, count] :
       {std::pair("single", &single_requests), std::pair("batch", &batch_requests),
        std::pair("unread", &unread_requests)})
    out += fmt::format("te_request_count{{method=\"{}\"}} {}\n", method, count->load());
  counter("te_request_success", "embedding requests answered with vectors", successes, out);
  head("te_request_failure", "counter", "embedding requests that failed, by reason", out);
  for (size_t i = 0; i < failures.size(); ++i)
    out += fmt::format("te_request_failure{{err=\"{}\"}} {}\n", kFailureNames[i], failures[i].load());
  request_seconds.print("te_request_duration", "seconds from a read body to its answer", out);
  tokenization_seconds.print("te_request_tokenization_duration", "seconds of tokenizing a request", out);
  queue_seconds.print("te_request_queue_duration", "seconds that a request waited for its first batch", out);
  inference_seconds.print("te_request_inference_duration", "seconds from a request's first batch to its last",
                          out);
  input_tokens.print("te_request_input_length", "tokens of an input, after truncation", out);
  counter("te_embed_count", "inputs received", inputs, out);
  counter("te_embed_success", "inputs embedded", inputs_embedded, out);
  value("te_queue_size", "gauge", "inputs waiting for a batch", queued_texts.load(), out);
  batch_texts.print("te_batch_next_size", "inputs of a batch", out);
  batch_tokens.print("te_batch_next_tokens", "tokens of a batch", out);
  value("edge_infer_queue_tokens", "gauge", "tokens waiting for a batch", queued_tokens.load(), out);
  counter("edge_infer_tokens_total", "tokens embedded", tokens, out);
  counter("edge_infer_truncated_inputs_total", "inputs cut to the model's length", truncated_inputs, out);
  counter("edge_infer_batches_total", "batches run", batches, out);
  counter("edge_infer_batches_retried_total", "batches run again request by request after a failure",
          batches_retried, out);
  value("edge_infer_connections", "gauge", "open connections", connections.load(), out);
  value("edge_infer_body_bytes", "gauge", "bytes of request bodies in memory", body_bytes.load(), out);
  counter("edge_infer_connections_total", "connections accepted", connections_total, out);
  counter("edge_infer_connections_refused_total", "connections refused at the limit", connections_refused,
          out);
  head("edge_infer_http_responses_total", "counter", "answers by HTTP status", out);
  const std::lock_guard lock(mutex_);
  for (const auto& [status, count] : responses_)
    out += fmt::format("edge_infer_http_responses_total{{code=\"{}\"}} {}\n", status, count);
  return out;
}

}  // namespace edge_infer
