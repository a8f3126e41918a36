// Module: a model as the runtime sees it: entries (GuardSet -> Program) over shared weights. A call picks the
// first entry whose guards hold, or asks the EntryBuilder for a new one. An entry that can be improved
// answers at once and is replaced behind the calls' back: answer first, compile behind. Thread-safe: calls
// run concurrently, each with a context of its own from a pool.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cache/gate_verdict.h"
#include "runtime/device/executable.h"
#include "runtime/guards/guard_set.h"

namespace edge_infer {

// A program that serves every call whose inputs satisfy `guards`.
struct Entry {
  GuardSet guards;
  std::unique_ptr<const Executable> program;
  bool improvable = false;  // it answers until EntryBuilder::improve() has made a better one
  std::string target{};     // Target::name of the device that it runs on
  PrecisionRecord precision{};
};

// Makes the entry for a call that none serves; implemented by the compiler, passed in by the app.
class EntryBuilder {
 public:
  virtual ~EntryBuilder() = default;
  // The result's guards hold for `inputs` and `settings`. Errors: kInvalidArgument when no program could
  // serve such inputs (the guard that fails is described). Called by one thread at a time.
  virtual Result<std::shared_ptr<const Entry>> build(std::span<const TensorView> inputs,
                                                     const CallSettings& settings) = 0;
  // The entry that shall take the place of an improvable one, under the same guards. May take seconds; called
  // on a background thread, one at a time, beside build(). After an error the old entry goes on serving.
  virtual Result<std::shared_ptr<const Entry>> improve(const Entry& entry, const CallSettings& settings) {
    static_cast<void>(entry), static_cast<void>(settings);
    return fail(ErrorCode::kUnsupported, "this builder makes no better entries");
  }
  // Entries on an accelerator that has failed (kDeviceLost) are no longer made. Called from any thread.
  virtual void lose_accelerator() {}
  // Makes a running improve() return soon; called from another thread.
  virtual void cancel() {}
};

// Keeps calls that belong together on the entry that served the first of them, even when a better one is
// published meanwhile: all of their results have the bits of one set of kernels. Thread-safe. Serves the
// calls of one module whose inputs satisfy the same guards; others run as if there were none.
class EntryPin {
 public:
  EntryPin() = default;
  EntryPin(const EntryPin&) = delete;
  EntryPin& operator=(const EntryPin&) = delete;

 private:
  friend class Module;
  std::mutex mutex_;
  std::shared_ptr<const Entry> entry_;
  std::vector<std::unique_ptr<RunContext>> idle_;  // of an entry that the module has replaced
};

class Module {
 public:
  explicit Module(std::unique_ptr<EntryBuilder> builder) : builder_(std::move(builder)) {}
  ~Module();  // cancels a running improvement and waits for it

  // Makes sure that an entry can answer such inputs; an improvement may go on behind.
  Status open(std::span<const TensorView> inputs, const CallSettings& settings);
  // As open(), and waits until the entry is as good as it gets. Errors: what improve() reported, too.
  Status prepare(std::span<const TensorView> inputs, const CallSettings& settings);
  // Waits at most `limit` for running improvements; true when none is left.
  bool finish(std::chrono::milliseconds limit);
  // Runs with at most `max_workers` workers. Inputs and outputs are borrowed for the call. When the device of
  // an entry is lost, its entries are dropped with a warning, and what is left of the machine answers.
  // `pin` may be null.
  Status run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
             const CallSettings& settings, int max_workers, EntryPin* pin = nullptr);
  // Whether calls without a pin are served by the entry that `pin` holds, or it holds none yet.
  bool serves(EntryPin& pin) const;

  std::vector<std::shared_ptr<const Entry>> entries() const;
  size_t peak_arena_bytes() const;

 private:
  Result<std::shared_ptr<const Entry>> pick(std::span<const TensorView> inputs, const CallSettings& settings);
  std::shared_ptr<const Entry> find(std::span<const TensorView> inputs, const CallSettings& settings) const;
  Result<std::shared_ptr<const Entry>> pick_pinned(std::span<const TensorView> inputs,
                                                   const CallSettings& settings, EntryPin* pin);
  std::unique_ptr<RunContext> take_context(const Entry& entry, EntryPin* pin);
  void return_context(const std::shared_ptr<const Entry>& entry, std::unique_ptr<RunContext> context,
                      EntryPin* pin);
  void improve_all();
  void join_improver();

  std::unique_ptr<EntryBuilder> builder_;
  mutable std::mutex entries_mutex_;  // guards what follows up to build_mutex_
  std::vector<std::shared_ptr<const Entry>> entries_;
  struct Improvement {
    std::shared_ptr<const Entry> entry;
    CallSettings settings;
  };
  std::vector<Improvement> waiting_;  // the first one is being worked on
  Status improved_;                   // of the last improvement that failed
  bool stopping_ = false;
  std::condition_variable settled_;  // waiting_ became empty
  std::thread improver_;
  int improver_process_ = 0;  // a forked child has the handle, but not the thread
  std::mutex build_mutex_;    // held while the builder works
  std::mutex contexts_mutex_;
  struct Idle {
    std::shared_ptr<const Entry> entry;
    std::unique_ptr<RunContext> context;
  };
  std::vector<Idle> idle_;
};

}  // namespace edge_infer
