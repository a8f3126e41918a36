#include "apps/index/pipeline.h"

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "apps/index/part.h"
#include "apps/index/reading_pool.h"
#include "apps/index/record_writer.h"
#include "apps/index/run_report.h"
#include "apps/index/tsan.h"
#include "runtime/base/cpu.h"
#include "runtime/base/log.h"

namespace edge_infer {
namespace {

// Files and parts on their way at a time: a worker each, and as many that are ready for the next free worker.
constexpr int kTokensPerThread = 2;

class IndexRun {
 public:
  IndexRun(IndexStore& store, const Embedder& embedder, const DocumentSource& source,
           const IndexOptions& options, IndexObserver& observer)
      : store_(store),
        embedder_(embedder),
        source_(source),
        options_(options),
        report_(observer),
        threads_(options.threads > 0 ? options.threads : worker_budget()),
        workers_(threads_ + embedder.waiting_calls()),
        packer_(std::min(embedder.bulk_tokens(), embedder.max_batch_tokens())),
        writer_(store, report_),
        pool_(workers_, [this](FileTask& task) { read_file(task); }) {
    rules_ = {&embedder.tokenizer(), embedder.role_prompt("document"), embedder.max_length()};
  }

  Result<IndexSummary> run() {
    EDGE_INFER_ASSIGN(known_vectors_, IndexStore::open(store_.database().path(), embedder_.space()));
    walk_ = walk_files(options_.paths, store_.database().path(), cancelled());
    EDGE_INFER_RETURN_IF_ERROR(plan());
    run_pipeline();
    while (std::shared_ptr<FileTask> late = pool_.wait_late()) {
      late_ = std::move(late);
      run_pipeline();
    }
    if (error_) return std::unexpected(*error_);
    EDGE_INFER_RETURN_IF_ERROR(writer_.flush());
    if (!cancelled()) EDGE_INFER_RETURN_IF_ERROR(forget_gone_files());
    return report_.finish(cancelled());
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
    for (const RefusedPath& refused : walk_.refused) report_.refuse(refused);
    for (const std::string& root : walk_.missing) {
      std::vector<std::string> below;
      if (!root.empty()) {
        EDGE_INFER_ASSIGN(below, store_.paths_below(root));
      }
      if (below.empty())
        report_.miss(root);
      else
        log_warning("{} does not exist any more: {} files leave the index", root, below.size());
    }
    for (const FoundFile& found : walk_.files) {
      if (cancelled()) break;
      auto task = std::make_shared<FileTask>();
      task->found = found;
      EDGE_INFER_ASSIGN(task->known, store_.find(found.path));
      if (settle_by_stamp(*task, source_.version)) {
        report_.end(*task);
        continue;
      }
      report_.expect(*task);
      tasks_.push_back(std::move(task));
    }
    std::reverse(tasks_.begin(), tasks_.end());  // taken from the back
    return {};
  }

  // What travels from stage to stage. Raw pointers, because oneTBB copies its items where ThreadSanitizer
  // cannot see it.
  struct Token {
    std::shared_ptr<FileTask> task;  // none: the token only fetches a part
    bool is_read = false;
    bool last = false;  // no file comes after it
    Part part;
  };

  // To the end of all files but those that are late.
  void run_pipeline() {
    ended_ = flushing_ = false;
    drained_ = false;
    const tbb::global_control workers(tbb::global_control::max_allowed_parallelism,
                                      static_cast<size_t>(workers_));
    tbb::task_arena arena(workers_);
    using tbb::filter_mode;
    for (void* state :
         {static_cast<void*>(&tasks_), static_cast<void*>(&packer_), static_cast<void*>(&writer_)})
      tsan_release(state);
    arena.execute([this] {
      tbb::parallel_pipeline(
          static_cast<size_t>(kTokensPerThread * workers_),
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
    for (void* state :
         {static_cast<void*>(&tasks_), static_cast<void*>(&packer_), static_cast<void*>(&writer_)})
      tsan_acquire(state);
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

  // Stage 1: files one by one, those that were late first; but while the packer has more than one part to
  // give, tokens that fetch these. So a long file is embedded by all workers, and no further file is read
  // before.
  Token* next(tbb::flow_control& control) {
    tsan_acquire(&tasks_);
    auto token = std::make_unique<Token>();
    if (drained_) {
      control.stop();
      token.reset();
    } else if (!ended_ && stopping()) {
      ended_ = token->last = true;
    } else if (!ended_ && backlog_ == 0) {
      token->task = late_ ? std::exchange(late_, nullptr) : pool_.take_late();
      token->is_read = token->task != nullptr;
      if (!token->task && tasks_.empty()) {
        ended_ = token->last = true;
      } else if (!token->task) {
        token->task = std::move(tasks_.back());
        tasks_.pop_back();
      }
    }
    tsan_release(&tasks_);
    tsan_release(token.get());
    return token.release();
  }

  // Stage 2, parallel. A file that is slow to read leaves its token, and comes with another one.
  Token* read(Token* token) {
    tsan_acquire(token);
    if (token->task && !token->is_read && !stopping()) {
      guarded([&] {
        if (!pool_.read(token->task)) token->task.reset();
      });
    }
    tsan_release(token);
    return token;
  }

  void read_file(FileTask& task) {
    guarded([&] { read_task(task, source_, rules_, [this] { return stopping(); }); });
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
      report_.embedded(token->part);
    });
    tsan_release(token);
    return token;
  }

  // Stage 5: one transaction for the files that the part finishes and the records that wait.
  void store(Token* raw) {
    tsan_acquire(raw);
    tsan_acquire(&writer_);
    const std::unique_ptr<Token> token(raw);
    guarded([&] {
      std::vector<std::shared_ptr<FileTask>> files;
      for (auto& task : token->part.finished)
        if (!failed_ && complete(*task)) files.push_back(std::move(task));
      if (Status written = writer_.add(std::move(files)); !written) set_error(written.error());
    });
    tsan_release(&writer_);
  }

  Status forget_gone_files() {
    EDGE_INFER_RETURN_IF_ERROR(writer_.forget_gone(walk_));
    known_vectors_.reset();  // its connection would keep freed pages from being given back
    return store_.compact();
  }

  IndexStore& store_;
  const Embedder& embedder_;
  const DocumentSource& source_;
  const IndexOptions& options_;
  RunReport report_;
  const int threads_;
  const int workers_;  // and those that wait for an accelerator meanwhile
  TokenRules rules_;
  const std::atomic<bool> never_{false};
  WalkResult walk_;

  // Stage 1.
  std::vector<std::shared_ptr<FileTask>> tasks_;
  std::shared_ptr<FileTask> late_;  // the next one, where that was late
  bool ended_ = false;
  // Stage 3.
  std::unique_ptr<IndexStore> known_vectors_;
  PartPacker packer_;
  bool flushing_ = false;
  // Told by stage 3 to stage 1.
  std::atomic<int64_t> backlog_{0};
  std::atomic<bool> drained_{false};
  // Stage 5.
  RecordWriter writer_;

  std::mutex mutex_;  // the first error
  std::optional<Error> error_;
  std::atomic<bool> failed_{false};

  ReadingPool pool_;  // ends before what its readings use
};

}  // namespace

Result<IndexSummary> index_files(IndexStore& store, const Embedder& embedder, const DocumentSource& source,
                                 const IndexOptions& options, IndexObserver& observer) {
  try {
    return IndexRun(store, embedder, source, options, observer).run();
  } catch (const std::system_error& e) {
    return fail(ErrorCode::kResourceExhausted, "cannot start the threads that read files: {}", e.what());
  }
}

}  // namespace edge_infer
