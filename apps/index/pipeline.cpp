#include "apps/index/pipeline.h"

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "apps/index/embed_batch.h"
#include "apps/index/tsan.h"
#include "runtime/base/cpu.h"

namespace edge_infer {
namespace {

using Clock = std::chrono::steady_clock;

// Tokens of one call of the embedder: enough for its packs, few enough that Ctrl-C and the progress bar feel alive.
constexpr int64_t kPartTokens = 4096;
constexpr auto kProgressInterval = std::chrono::milliseconds(200);
// Records without passages (failures, new stamps) that may wait for the next transaction.
constexpr size_t kMaxWaitingRecords = 256;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class IndexRun {
 public:
  IndexRun(IndexStore& store, const Embedder& embedder, const DocumentSource& source, const IndexOptions& options,
           IndexObserver& observer)
      : store_(store), embedder_(embedder), source_(source), options_(options), observer_(observer) {
    threads_ = options.threads > 0 ? options.threads : worker_budget();
    part_tokens_ = std::min(kPartTokens, embedder.max_batch_tokens());
    batch_tokens_ = 2 * part_tokens_ * threads_;
    rules_ = {&embedder.tokenizer(), embedder.role_prompt("document"), embedder.max_length()};
  }

  Result<IndexSummary> run() {
    EDGE_INFER_ASSIGN(known_vectors_, IndexStore::open(store_.database().path(), embedder_.space()));
    walk_ = walk_files(options_.paths, store_.database().path(), cancelled());
    EDGE_INFER_RETURN_IF_ERROR(plan());
    run_pipeline();
    if (error_) return std::unexpected(*error_);
    EDGE_INFER_RETURN_IF_ERROR(write_waiting());
    if (!cancelled()) EDGE_INFER_RETURN_IF_ERROR(forget_gone_files());
    summary_.cancelled = cancelled();
    summary_.seconds = seconds_since(start_);
    report_progress(true);
    return summary_;
  }

 private:
  const std::atomic<bool>& cancelled() const { return options_.cancel != nullptr ? *options_.cancel : never_; }
  bool stopping() const { return cancelled() || failed_; }

  void set_error(Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    failed_ = true;
  }

  // Before the pipeline: settles by stamp what is unchanged, so that totals and the time left are of real work only.
  Status plan() {
    for (const RefusedPath& refused : walk_.refused) report_refused(refused.path, refused.status, refused.reason);
    for (const std::string& root : walk_.missing) {
      EDGE_INFER_ASSIGN(const auto below, store_.paths_below(root));
      if (below.empty()) report_refused(root, FileStatus::kFailed, "no such file or directory");
    }
    for (const FoundFile& found : walk_.files) {
      if (cancelled()) break;
      auto task = std::make_unique<FileTask>();
      task->found = found;
      EDGE_INFER_ASSIGN(task->known, store_.find(found.path));
      if (settle_by_stamp(*task, source_.version)) {
        report_task(*task);
        continue;
      }
      bytes_total_ += weight(*task);
      tasks_.push_back(std::move(task));
    }
    std::reverse(tasks_.begin(), tasks_.end());  // taken from the back
    files_total_ = files_done_ + static_cast<int64_t>(tasks_.size());
    return {};
  }

  // An empty file is work too.
  static double weight(const FileTask& task) { return static_cast<double>(task.found.stamp.size) + 512; }

  void count_bytes(FileTask& task, double bytes) {
    task.bytes_counted += bytes;
    bytes_done_ += bytes;
  }

  void run_pipeline() {
    const tbb::global_control workers(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads_));
    tbb::task_arena arena(threads_);
    arena.execute([this] {
      tbb::parallel_pipeline(
          static_cast<size_t>(threads_) + 2,
          tbb::make_filter<void, FileTask*>(tbb::filter_mode::serial_in_order,
                                            [this](tbb::flow_control& control) { return next_task(control); }) &
              tbb::make_filter<FileTask*, FileTask*>(tbb::filter_mode::parallel,
                                                     [this](FileTask* task) { return read(task); }) &
              tbb::make_filter<FileTask*, Batch*>(tbb::filter_mode::serial_in_order,
                                                  [this](FileTask* task) { return pack(task); }) &
              tbb::make_filter<Batch*, Batch*>(tbb::filter_mode::parallel,
                                               [this](Batch* batch) { return embed(batch); }) &
              tbb::make_filter<Batch*, void>(tbb::filter_mode::serial_in_order, [this](Batch* batch) { store(batch); }));
    });
  }

  // Runs a stage's body; an exception (memory) ends the run like any error, and the pipeline drains.
  template <typename Body>
  void guarded(Body body) {
    try {
      body();
    } catch (const std::bad_alloc&) {
      set_error({ErrorCode::kResourceExhausted, "out of memory while indexing"});
    } catch (const std::exception& e) {
      set_error({ErrorCode::kInternal, e.what()});
    }
  }

  // Stage 1. After the last file comes one task without a path, on which pack() lets go of what it holds.
  FileTask* next_task(tbb::flow_control& control) {
    tsan_acquire(&tasks_);
    FileTask* task = nullptr;
    if (!tasks_.empty() && !stopping()) {
      task = tasks_.back().release();
      tasks_.pop_back();
    } else if (!ended_) {
      ended_ = true;
      task = new FileTask;
    } else {
      control.stop();
    }
    tsan_release(&tasks_);
    tsan_release(task);
    return task;
  }

  // Stage 2, parallel.
  FileTask* read(FileTask* task) {
    tsan_acquire(task);
    if (!task->found.path.empty() && !stopping()) {
      guarded([&] { read_task(*task, source_, rules_); });
    }
    tsan_release(task);
    return task;
  }

  // Stage 3: collects files until there is work for all workers.
  Batch* pack(FileTask* raw) {
    tsan_acquire(raw);
    tsan_acquire(&pending_);
    std::unique_ptr<FileTask> task(raw);
    auto batch = std::make_unique<Batch>();
    const bool last = task->found.path.empty();
    guarded([&] {
      if (!last && !stopping()) {
        const int64_t missing = use_known_vectors(*task);
        (missing > 0 ? pending_ : *batch).tasks.push_back(std::move(task));
        pending_tokens_ += missing;
      }
      if (last || pending_tokens_ >= batch_tokens_) {
        for (auto& waiting : pending_.tasks) batch->tasks.push_back(std::move(waiting));
        pending_.tasks.clear();
        pending_tokens_ = 0;
      }
    });
    tsan_release(&pending_);
    tsan_release(batch.get());
    return batch.release();
  }

  // The tokens of passages whose vector the index does not hold.
  int64_t use_known_vectors(FileTask& task) {
    int64_t missing = 0;
    for (Passage& passage : task.passages) {
      auto vector = known_vectors_->find_vector(passage.hash);
      if (!vector) {
        set_error(vector.error());
        return 0;
      }
      if (*vector)
        passage.vector = std::move(**vector);
      else
        missing += passage.tokens;
    }
    return missing;
  }

  // Stage 4, parallel, and parallel inside.
  Batch* embed(Batch* batch) {
    tsan_acquire(batch);
    guarded([&] {
      if (stopping()) return;
      const auto progress = [this](FileTask& task, int64_t passages, int64_t tokens) {
        const std::lock_guard lock(mutex_);
        embedded_chunks_ += passages;
        summary_.tokens += tokens;
        count_bytes(task, weight(task) * static_cast<double>(passages) / static_cast<double>(task.passages.size()));
        report_progress_locked(false);
      };
      const Status status = embed_batch(*batch, embedder_, part_tokens_, [this] { return stopping(); }, progress);
      if (!status) set_error(status.error());
    });
    tsan_release(batch);
    return batch;
  }

  // Stage 5: one transaction for the batch's documents and the records that wait.
  void store(Batch* raw) {
    tsan_acquire(raw);
    tsan_acquire(&waiting_);
    guarded([&] {
      const std::unique_ptr<Batch> batch(raw);
      bool documents = false;
      for (auto& task : batch->tasks) {
        if (failed_ || !is_embedded(*task)) continue;
        documents |= !task->passages.empty();
        waiting_.push_back(std::move(task));
      }
      if (documents || waiting_.size() >= kMaxWaitingRecords) {
        if (Status written = write_waiting(); !written) set_error(written.error());
      }
    });
    tsan_release(&waiting_);
  }

  Status write_waiting() {
    if (waiting_.empty()) return {};
    EDGE_INFER_RETURN_IF_ERROR(store_.begin());
    for (const auto& task : waiting_) {
      const Status written = write(*task);
      if (!written) {
        store_.rollback();
        return written;
      }
    }
    EDGE_INFER_RETURN_IF_ERROR(store_.commit());
    for (const auto& task : waiting_) {
      {
        const std::lock_guard lock(mutex_);
        count_bytes(*task, weight(*task) - task->bytes_counted);
      }
      report_task(*task);
    }
    waiting_.clear();
    report_progress(false);
    return {};
  }

  Status write(const FileTask& task) {
    switch (task.outcome) {
      case FileTask::Outcome::kReplaced: return store_.put(task.record, task.passages);
      case FileTask::Outcome::kTouched: return store_.touch(task.record);
      case FileTask::Outcome::kGone: {
        EDGE_INFER_ASSIGN(const bool removed, store_.remove(task.found.path));
        summary_.deleted += removed ? 1 : 0;
        return {};
      }
      case FileTask::Outcome::kUnchanged:
      case FileTask::Outcome::kKept: break;
    }
    return {};
  }

  Status forget_gone_files() {
    EDGE_INFER_RETURN_IF_ERROR(store_.begin());
    for (const std::string& root : walk_.roots) {
      EDGE_INFER_ASSIGN(const auto below, store_.paths_below(root));
      for (const std::string& path : below) {
        if (!walk_.is_gone(path)) continue;
        EDGE_INFER_ASSIGN(const bool removed, store_.remove(path));
        summary_.deleted += removed ? 1 : 0;
      }
    }
    EDGE_INFER_RETURN_IF_ERROR(store_.commit());
    known_vectors_.reset();  // its connection would keep freed pages from being given back
    return store_.compact();
  }

  void report_refused(const std::string& path, FileStatus status, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    const bool failed = status == FileStatus::kFailed;
    count_and_send({path, failed ? FileEventStatus::kFailed : FileEventStatus::kSkipped, reason, 0});
  }

  void report_task(const FileTask& task) {
    const std::lock_guard lock(mutex_);
    FileEvent event{task.found.path, FileEventStatus::kIndexed, task.record.reason, 0};
    const bool fresh = task.outcome == FileTask::Outcome::kReplaced;
    switch (task.record.status) {
      case FileStatus::kFailed: event.status = FileEventStatus::kFailed; break;
      case FileStatus::kSkipped: event.status = FileEventStatus::kSkipped; break;
      case FileStatus::kIndexed: event.status = fresh ? FileEventStatus::kIndexed : FileEventStatus::kUnchanged; break;
    }
    event.chunks = static_cast<int64_t>(task.passages.size());
    if (event.status == FileEventStatus::kIndexed) summary_.chunks += event.chunks;
    count_and_send(event);
  }

  void count_and_send(const FileEvent& event) {
    ++files_done_;
    ++summary_.files;
    switch (event.status) {
      case FileEventStatus::kIndexed: ++summary_.indexed; break;
      case FileEventStatus::kUnchanged: ++summary_.unchanged; break;
      case FileEventStatus::kFailed: ++summary_.failed; break;
      case FileEventStatus::kSkipped: ++summary_.skipped; break;
    }
    observer_.file(event);
  }

  void report_progress(bool always) {
    const std::lock_guard lock(mutex_);
    report_progress_locked(always);
  }

  void report_progress_locked(bool always) {
    if (!always && Clock::now() < next_progress_) return;
    next_progress_ = Clock::now() + kProgressInterval;
    IndexProgress p;
    p.files_done = files_done_;
    p.files_total = std::max(files_total_, files_done_);
    p.chunks = embedded_chunks_;
    p.tokens = summary_.tokens;
    p.seconds = seconds_since(start_);
    p.tokens_per_second = p.seconds > 0 ? static_cast<double>(p.tokens) / p.seconds : 0;
    if (bytes_done_ > 0) p.eta_seconds = std::max(0.0, bytes_total_ - bytes_done_) / bytes_done_ * p.seconds;
    observer_.progress(p);
  }

  IndexStore& store_;
  const Embedder& embedder_;
  const DocumentSource& source_;
  const IndexOptions& options_;
  IndexObserver& observer_;
  int threads_ = 1;
  int64_t part_tokens_ = 0, batch_tokens_ = 0;
  TokenRules rules_;
  const std::atomic<bool> never_{false};
  const Clock::time_point start_ = Clock::now();
  WalkResult walk_;
  int64_t files_total_ = 0;
  double bytes_total_ = 0;

  // Stage 1.
  std::vector<std::unique_ptr<FileTask>> tasks_;
  bool ended_ = false;
  // Stage 3.
  std::unique_ptr<IndexStore> known_vectors_;
  Batch pending_;
  int64_t pending_tokens_ = 0;
  // Stage 5.
  std::vector<std::unique_ptr<FileTask>> waiting_;

  std::mutex mutex_;  // what follows, and the observer
  std::optional<Error> error_;
  std::atomic<bool> failed_{false};
  IndexSummary summary_;
  int64_t files_done_ = 0, embedded_chunks_ = 0;
  double bytes_done_ = 0;
  Clock::time_point next_progress_ = Clock::now();
};

}  // namespace

const char* file_event_name(FileEventStatus status) {
  switch (status) {
    case FileEventStatus::kIndexed: return "indexed";
    case FileEventStatus::kUnchanged: return "unchanged";
    case FileEventStatus::kFailed: return "failed";
    case FileEventStatus::kSkipped: return "skipped";
  }
  return "";
}

Result<IndexSummary> index_files(IndexStore& store, const Embedder& embedder, const DocumentSource& source,
                                 const IndexOptions& options, IndexObserver& observer) {
  return IndexRun(store, embedder, source, options, observer).run();
}

}  // namespace edge_infer
