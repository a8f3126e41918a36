// Batching across requests: texts of all waiting requests are packed into forwards of a bounded number of
// tokens. Nothing waits for company: an idle dispatcher takes what is there at once, and batches grow while
// it is busy. Waiting requests share each batch, so that a large one cannot hold up small ones. All texts of
// a request are served by one set of kernels (Embedder::pin()).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "apps/server/metrics.h"
#include "models/embedder.h"
#include "runtime/base/error.h"

namespace edge_infer {

struct BatcherOptions {
  int64_t batch_tokens = 2048;     // of one forward; a longer text runs alone
  int64_t queue_tokens = 1 << 22;  // waiting; a request that finds the queue empty may exceed it
  int64_t queue_texts = 1 << 15;
  int dispatchers = 1;  // forwards at a time
};

// Batches that suit `embedder` on a machine of so many workers.
BatcherOptions batching_for(const Embedder& embedder, int workers);

// The tokenized texts of one request, and their vectors once `done` was called with success.
class EmbedJob {
 public:
  using Done =
      std::move_only_function<void(Status)>;  // called once, on a dispatcher or in cancel(); must not throw

  void add_text(std::span<const int32_t> ids);
  size_t size() const { return ends_.size(); }
  int64_t tokens() const { return static_cast<int64_t>(ids_.size()); }
  std::span<const int32_t> text(size_t i) const;

  Done done;
  std::vector<float> vectors;  // [size(), dimensions]
  std::chrono::steady_clock::time_point enqueued, started, finished;

 private:
  friend class Batcher;
  std::vector<int32_t> ids_;
  std::vector<size_t> ends_;
  // Guarded by the batcher's mutex.
  std::shared_ptr<EntryPin> pin_;  // since its first batch
  size_t next_ = 0;                // first text that no batch has taken
  size_t running_ = 0;             // texts in batches now
  bool queued_ = false;
  bool ended_ = false;  // done is called or about to be
  Status status_;
};

class Batcher {
 public:
  // `embedder` and `metrics` must outlive the batcher.
  Batcher(const Embedder& embedder, const BatcherOptions& options, Metrics& metrics);
  ~Batcher() { stop(); }
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // Takes a job of at least one text, checked beforehand. kResourceExhausted: the queue is full, and done is
  // not called. `urgent` jobs pass the queue and its limits (health checks).
  Status submit(const std::shared_ptr<EmbedJob>& job, bool urgent = false);
  // Drops what has not run. done is called with kCancelled, now or when the running part ends; nothing
  // happens to a job that ended.
  void cancel(const std::shared_ptr<EmbedJob>& job);
  // Refuses further jobs, ends waiting ones with kCancelled, and returns when nothing runs.
  void stop();

 private:
  struct Slice {
    std::shared_ptr<EmbedJob> job;
    size_t first = 0, count = 0;
  };
  std::vector<Slice> next_batch();  // under the mutex
  void take(const std::shared_ptr<EmbedJob>& job, int64_t limit, int64_t& tokens, std::vector<Slice>& batch);
  void run(const std::vector<Slice>& batch, std::vector<Status>& statuses);
  Status run_slices(std::span<const Slice> slices);
  std::shared_ptr<EntryPin> next_pin();
  void finish(const std::vector<Slice>& batch, std::vector<Status>& statuses);
  void remove(const std::shared_ptr<EmbedJob>& job);  // from the queue, under the mutex
  static void call_done(EmbedJob& job);               // without the mutex
  void dispatch();

  const Embedder& embedder_;
  const BatcherOptions options_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<std::shared_ptr<EmbedJob>> queue_;
  int64_t queued_tokens_ = 0, queued_texts_ = 0;
  std::shared_ptr<EntryPin> last_pin_;  // of the last batch
  bool stopping_ = false;
  std::vector<std::jthread> dispatchers_;
};

}  // namespace edge_infer
