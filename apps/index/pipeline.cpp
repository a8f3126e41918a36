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

#include "apps/index/part.h"
#include "apps/index/tsan.h"
#include "runtime/base/cpu.h"

namespace edge_infer {
namespace {

using Clock = std::chrono::steady_clock;

// Tokens of one call of the embedder: enough for its packs, few enough that Ctrl-C and the progress bar feel
// alive.
constexpr int64_t kPartTokens = 2048;
// Files and parts on their way at a time: a worker each, and as many that are ready for the next free worker.
constexpr int kTokensPerThread = 2;
constexpr auto kProgressInterval = std::chrono::milliseconds(200);
// Records without passages (failures, new stamps) that may wait for the next transaction.
constexpr size_t kMaxWaitingRecords = 256;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class IndexRun {
 public:
  IndexRun(IndexStore& store, const Embedder& embedder, const DocumentSource& source,
           const IndexOptions& options, IndexObserver& observer)
      : store_(store),
        embedder_(embedder),
        source_(source),
        options_(options),
        observer_(observer),
        threads_(options.threads > 0 ? options.threads : worker_budget()),
        packer_(std::min(kPartTokens, embedder.max_batch_tokens())) {
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
  const std::atomic<bool>& cancelled() const {
    return options_.cancel != nullptr ? *options_.cancel : never_;
  }
  bool stopping() const { return cancelled() || failed_; }

  void set_error(Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    failed_ = true;
  }

  // Before the pipeline: settles by stamp what is unchanged, so that totals and the time left are of real
  // work only.
  Status plan() {
    for (const RefusedPath& refused : walk_.refused)
      report_refused(refused.path, refused.status, refused.reason);
    for (const std::string& root : walk_.missing) {
      EDGE_INFER_ASSIGN(const auto below, store_.paths_below(root));
      if (below.empty()) report_refused(root, FileStatus::kFailed, "no such file or directory");
    }
    for (const FoundFile& found : walk_.files) {
      if (cancelled()) break;
      auto task = std::make_shared<FileTask>();
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

  // What travels from stage to stage. Raw pointers, because oneTBB copies its items where ThreadSanitizer
  // cannot see it.
  struct Token {
    std::shared_ptr<FileTask> task;  // none: the token only fetches a part
    bool last = false;               // no file comes after it
    Part part;
  };

  void run_pipeline() {
    const tbb::global_control workers(tbb::global_control::max_allowed_parallelism,
                                      static_cast<size_t>(threads_));
    tbb::task_arena arena(threads_);
    using tbb::filter_mode;
    arena.execute([this] {
      tbb::parallel_pipeline(
          static_cast<size_t>(kTokensPerThread * threads_),
          tbb::make_filter<void, Token*>(filter_mode::serial_in_order, [this](tbb::flow_control& control) {
            return next(control);
          }) & tbb::make_filter<Token*, Token*>(filter_mode::parallel, [this](Token* token) {
            return read(token);
          }) & tbb::make_filter<Token*, Token*>(filter_mode::serial_in_order, [this](Token* token) {
            return pack(token);
          }) & tbb::make_filter<Token*, Token*>(filter_mode::parallel, [this](Token* token) {
            return embed(token);
          }) & tbb::make_filter<Token*, void>(filter_mode::serial_in_order, [this](Token* token) {
            store(token);
          }));
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

  // Stage 1: files one by one; but while the packer has more than one part to give, tokens that fetch these.
  // So a long file is embedded by all workers, and no further file is read before.
  Token* next(tbb::flow_control& control) {
    tsan_acquire(&tasks_);
    auto token = std::make_unique<Token>();
    if (drained_) {
      control.stop();
      token.reset();
    } else if (!ended_ && (stopping() || (tasks_.empty() && backlog_ == 0))) {
      ended_ = true;
      token->last = true;
    } else if (!ended_ && backlog_ == 0) {
      token->task = std::move(tasks_.back());
      tasks_.pop_back();
    }
    tsan_release(&tasks_);
    tsan_release(token.get());
    return token.release();
  }

  // Stage 2, parallel.
  Token* read(Token* token) {
    tsan_acquire(token);
    if (token->task && !stopping()) {
      guarded([&] { read_task(*token->task, source_, rules_); });
    }
    tsan_release(token);
    return token;
  }

  // Stage 3. A file that was read when the run is told to stop is dropped: the signal may have hit its
  // reader, too.
  Token* pack(Token* token) {
    tsan_acquire(token);
    tsan_acquire(&packer_);
    guarded([&] {
      if (stopping()) {
        packer_.clear();
      } else if (token->task) {
        use_known_vectors(*token->task);
        find_missing(*token->task);
        packer_.add(std::move(token->task));
      }
      token->task.reset();
      flushing_ |= token->last;
      token->part = packer_.take(flushing_);
    });
    backlog_ = packer_.backlog();
    if (flushing_ && (packer_.empty() || stopping())) drained_ = true;
    tsan_release(&packer_);
    tsan_release(token);
    return token;
  }

  void use_known_vectors(FileTask& task) {
    for (Passage& passage : task.passages) {
      auto vector = known_vectors_->find_vector(passage.hash);
      if (!vector) return set_error(vector.error());
      if (*vector) passage.vector = std::move(**vector);
    }
  }

  // Stage 4, parallel.
  Token* embed(Token* token) {
    tsan_acquire(token);
    guarded([&] {
      if (stopping() || token->part.passages.empty()) return;
      if (const Status status = embed_part(token->part, embedder_); !status) return set_error(status.error());
      const std::lock_guard lock(mutex_);
      for (const PassageOfTask& p : token->part.passages) {
        ++embedded_chunks_;
        summary_.tokens += p.task->passages[p.passage].tokens;
        count_bytes(*p.task, weight(*p.task) / static_cast<double>(p.task->missing.size()));
      }
      report_progress_locked(false);
    });
    tsan_release(token);
    return token;
  }

  // Stage 5: one transaction for the files that the part finishes and the records that wait.
  void store(Token* raw) {
    tsan_acquire(raw);
    tsan_acquire(&waiting_);
    const std::unique_ptr<Token> token(raw);
    guarded([&] {
      bool documents = false;
      for (auto& task : token->part.finished) {
        if (failed_ || !complete(*task)) continue;
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
      case FileTask::Outcome::kReplaced:
        return store_.put(task.record, task.passages);
      case FileTask::Outcome::kTouched:
        return store_.touch(task.record);
      case FileTask::Outcome::kGone: {
        EDGE_INFER_ASSIGN(const bool removed, store_.remove(task.found.path));
        summary_.deleted += removed ? 1 : 0;
        return {};
      }
      case FileTask::Outcome::kUnchanged:
      case FileTask::Outcome::kKept:
        break;
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
      case FileStatus::kFailed:
        event.status = FileEventStatus::kFailed;
        break;
      case FileStatus::kSkipped:
        event.status = FileEventStatus::kSkipped;
        break;
      case FileStatus::kIndexed:
        event.status = fresh ? FileEventStatus::kIndexed : FileEventStatus::kUnchanged;
        break;
    }
    event.chunks = static_cast<int64_t>(task.passages.size());
    if (event.status == FileEventStatus::kIndexed) summary_.chunks += event.chunks;
    count_and_send(event);
  }

  void count_and_send(const FileEvent& event) {
    ++files_done_;
    ++summary_.files;
    switch (event.status) {
      case FileEventStatus::kIndexed:
        ++summary_.indexed;
        break;
      case FileEventStatus::kUnchanged:
        ++summary_.unchanged;
        break;
      case FileEventStatus::kFailed:
        ++summary_.failed;
        break;
      case FileEventStatus::kSkipped:
        ++summary_.skipped;
        break;
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
  const int threads_;
  TokenRules rules_;
  const std::atomic<bool> never_{false};
  const Clock::time_point start_ = Clock::now();
  WalkResult walk_;
  int64_t files_total_ = 0;
  double bytes_total_ = 0;

  // Stage 1.
  std::vector<std::shared_ptr<FileTask>> tasks_;
  bool ended_ = false;
  // Stage 3.
  std::unique_ptr<IndexStore> known_vectors_;
  PartPacker packer_;
  bool flushing_ = false;
  // Told by stage 3 to stage 1.
  std::atomic<int64_t> backlog_{0};
  std::atomic<bool> drained_{false};
  // Stage 5.
  std::vector<std::shared_ptr<FileTask>> waiting_;

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
    case FileEventStatus::kIndexed:
      return "indexed";
    case FileEventStatus::kUnchanged:
      return "unchanged";
    case FileEventStatus::kFailed:
      return "failed";
    case FileEventStatus::kSkipped:
      return "skipped";
  }
  return "";
}

Result<IndexSummary> index_files(IndexStore& store, const Embedder& embedder, const DocumentSource& source,
                                 const IndexOptions& options, IndexObserver& observer) {
  return IndexRun(store, embedder, source, options, observer).run();
}

}  // namespace edge_infer
