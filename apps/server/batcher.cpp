#include "apps/server/batcher.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

namespace edge_infer {

BatcherOptions batching_for(const Embedder& embedder, int workers) {
  // Small enough that a request which comes during a forward waits little, large enough to keep every worker
  // or the accelerator busy; and while an accelerator computes one batch, the next is put together.
  constexpr int64_t kTokensPerWorker = 1024;
  BatcherOptions options;
  const int64_t wanted = embedder.waiting_calls() > 0 ? embedder.bulk_tokens() : kTokensPerWorker * workers;
  const int64_t most = std::max(2 * kTokensPerWorker, embedder.max_batch_tokens());
  options.batch_tokens = std::clamp(wanted, 2 * kTokensPerWorker, most);
  options.dispatchers = std::max(embedder.waiting_calls(), 1);
  return options;
}

void EmbedJob::add_text(std::span<const int32_t> ids) {
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  ends_.push_back(ids_.size());
}

std::span<const int32_t> EmbedJob::text(size_t i) const {
  const size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::span(ids_).subspan(begin, ends_[i] - begin);
}

Batcher::Batcher(const Embedder& embedder, const BatcherOptions& options, Metrics& metrics)
    : embedder_(embedder), options_(options), metrics_(metrics) {
  for (int i = 0; i < options.dispatchers; ++i) dispatchers_.emplace_back([this] { dispatch(); });
}

void Batcher::stop() {
  std::list<std::shared_ptr<EmbedJob>> waiting;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    waiting = queue_;
  }
  wake_.notify_all();
  for (const auto& job : waiting) cancel(job);
  dispatchers_.clear();
}

Status Batcher::submit(const std::shared_ptr<EmbedJob>& job, bool urgent) {
  job->vectors.resize(job->size() * static_cast<size_t>(embedder_.dimensions()));
  job->enqueued = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return fail(ErrorCode::kCancelled, "the server is stopping");
    const auto texts = static_cast<int64_t>(job->size());
    if (!urgent && !queue_.empty() &&
        (queued_texts_ + texts > options_.queue_texts ||
         queued_tokens_ + job->tokens() > options_.queue_tokens))
      return fail(ErrorCode::kResourceExhausted, "the queue is full: {} inputs are waiting", queued_texts_);
    if (urgent)
      queue_.push_front(job);
    else
      queue_.push_back(job);
    job->queued_ = true;
    queued_texts_ += texts;
    queued_tokens_ += job->tokens();
    metrics_.queued_texts = queued_texts_;
    metrics_.queued_tokens = queued_tokens_;
  }
  wake_.notify_one();
  return {};
}

void Batcher::remove(const std::shared_ptr<EmbedJob>& job) {
  if (!job->queued_) return;
  for (; job->next_ < job->size(); ++job->next_) {
    --queued_texts_;
    queued_tokens_ -= static_cast<int64_t>(job->text(job->next_).size());
  }
  job->queued_ = false;
  queue_.remove(job);
  metrics_.queued_texts = queued_texts_;
  metrics_.queued_tokens = queued_tokens_;
}

void Batcher::call_done(EmbedJob& job) {
  // Moved out first: what the callback holds (often the job's own request) is released with it.
  EmbedJob::Done done = std::exchange(job.done, nullptr);
  done(job.status_);
}

void Batcher::cancel(const std::shared_ptr<EmbedJob>& job) {
  bool end = false;
  {
    const std::lock_guard lock(mutex_);
    if (job->ended_ || !job->queued_) return;
    remove(job);
    job->status_ = fail(ErrorCode::kCancelled, "cancelled");
    end = job->ended_ = job->running_ == 0;
  }
  if (end) call_done(*job);
}

void Batcher::take(const std::shared_ptr<EmbedJob>& job, int64_t limit, int64_t& tokens,
                   std::vector<Slice>& batch) {
  int64_t taken = 0;
  while (job->next_ < job->size()) {
    const auto length = static_cast<int64_t>(job->text(job->next_).size());
    const bool fits = tokens + length <= options_.batch_tokens && (taken == 0 || taken + length <= limit);
    if (!fits && tokens != 0) return;
    if (taken == 0) {
      auto slice = std::find_if(batch.begin(), batch.end(), [&](const Slice& s) { return s.job == job; });
      if (slice == batch.end())
        batch.push_back(Slice{job, job->next_, 0});
      else
        std::rotate(slice, slice + 1, batch.end());
    }
    ++batch.back().count;
    ++job->next_;
    ++job->running_;
    tokens += length;
    taken += length;
    --queued_texts_;
    queued_tokens_ -= length;
  }
}

// While better kernels take over, requests of two pins wait side by side and take turns.
std::shared_ptr<EntryPin> Batcher::next_pin() {
  const std::shared_ptr<EntryPin> present = embedder_.pin();
  for (const auto& job : queue_)
    if (job->next_ == 0) job->pin_ = present;
  const auto other = std::ranges::find_if(queue_, [&](const auto& job) { return job->pin_ != last_pin_; });
  return other != queue_.end() ? (*other)->pin_ : queue_.front()->pin_;
}

std::vector<Batcher::Slice> Batcher::next_batch() {
  std::vector<Slice> batch;
  int64_t tokens = 0;
  last_pin_ = next_pin();
  const auto jobs = static_cast<int64_t>(queue_.size());
  for (const int64_t share : {options_.batch_tokens / jobs, options_.batch_tokens})
    for (const auto& job : queue_) {
      if (tokens >= options_.batch_tokens) break;
      if (job->pin_ == last_pin_) take(job, share, tokens, batch);
    }
  const auto now = std::chrono::steady_clock::now();
  for (const Slice& slice : batch) {
    if (slice.first == 0) slice.job->started = now;
    if (slice.job->next_ == slice.job->size()) remove(slice.job);
  }
  metrics_.queued_texts = queued_texts_;
  metrics_.queued_tokens = queued_tokens_;
  metrics_.batches.fetch_add(1);
  metrics_.batch_tokens.observe(static_cast<double>(tokens));
  return batch;
}

Status Batcher::run_slices(std::span<const Slice> slices) try {
  std::vector<std::span<const int32_t>> texts;
  for (const Slice& slice : slices)
    for (size_t i = 0; i < slice.count; ++i) texts.push_back(slice.job->text(slice.first + i));
  EntryPin* const pin = slices.front().job->pin_.get();
  const auto width = static_cast<size_t>(embedder_.dimensions());
  const auto rows_of = [width](const Slice& slice) {
    return std::span(slice.job->vectors).subspan(slice.first * width, slice.count * width);
  };
  if (slices.size() == 1) return embedder_.embed_tokens(texts, rows_of(slices[0]), pin);
  std::vector<float> vectors(texts.size() * width);
  EDGE_INFER_RETURN_IF_ERROR(embedder_.embed_tokens(texts, vectors, pin));
  const float* source = vectors.data();
  for (const Slice& slice : slices) {
    const auto rows = rows_of(slice);
    std::memcpy(rows.data(), source, rows.size_bytes());
    source += rows.size();
  }
  return {};
} catch (const std::bad_alloc&) {
  return fail(ErrorCode::kResourceExhausted, "out of memory");
} catch (const std::exception& exception) {
  return fail(ErrorCode::kInternal, "{}", exception.what());
}

void Batcher::run(const std::vector<Slice>& batch, std::vector<Status>& statuses) {
  const Status together = run_slices(batch);
  statuses.assign(batch.size(), together);
  if (together || batch.size() == 1) return;
  // Whatever the reason was, it is one request's alone: each answers for itself.
  metrics_.batches_retried.fetch_add(1);
  for (size_t i = 0; i < batch.size(); ++i) statuses[i] = run_slices(std::span(batch).subspan(i, 1));
}

void Batcher::finish(const std::vector<Slice>& batch, std::vector<Status>& statuses) {
  std::vector<std::shared_ptr<EmbedJob>> ended;
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    for (size_t i = 0; i < batch.size(); ++i) {
      EmbedJob& job = *batch[i].job;
      job.running_ -= batch[i].count;
      if (!statuses[i]) {
        if (job.status_) job.status_ = statuses[i];
        remove(batch[i].job);  // the rest of a failed request is not worth running
      }
      if (job.running_ != 0 || job.next_ < job.size() || job.ended_) continue;
      job.ended_ = true;
      job.finished = now;
      ended.push_back(batch[i].job);
    }
  }
  for (const auto& job : ended) call_done(*job);
}

void Batcher::dispatch() {
  std::vector<Status> statuses;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::vector<Slice> batch = next_batch();
    const bool more = !queue_.empty();
    lock.unlock();
    if (more) wake_.notify_one();
    size_t texts = 0;
    for (const Slice& slice : batch) texts += slice.count;
    metrics_.batch_texts.observe(static_cast<double>(texts));
    run(batch, statuses);
    finish(batch, statuses);
    lock.lock();
  }
}

}  // namespace edge_infer
