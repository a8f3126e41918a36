// Module: a model as the runtime sees it: entries (GuardSet -> Program) over shared weights. A call picks the
// first entry whose guards hold, or asks the EntryBuilder for a new one. Thread-safe: calls run concurrently,
// each with a context of its own from a pool.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/executor/bound_program.h"
#include "runtime/guards/guard_set.h"

namespace edge_infer {

// A program that serves every call whose inputs satisfy `guards`.
struct Entry {
  GuardSet guards;
  std::unique_ptr<const BoundProgram> program;
};

// Makes the entry for a call that none serves; implemented by the compiler, passed in by the app.
class EntryBuilder {
 public:
  virtual ~EntryBuilder() = default;
  // The result's guards hold for `inputs` and `settings`. Errors: kInvalidArgument when no program could
  // serve such inputs (the guard that fails is described). Called by one thread at a time.
  virtual Result<std::shared_ptr<const Entry>> build(std::span<const TensorView> inputs,
                                                     const CallSettings& settings) = 0;
};

class Module {
 public:
  explicit Module(std::unique_ptr<EntryBuilder> builder) : builder_(std::move(builder)) {}

  // Blocks until an entry serves such inputs.
  Status prepare(std::span<const TensorView> inputs, const CallSettings& settings);
  // Runs with at most `max_workers` workers. Inputs and outputs are borrowed for the call.
  Status run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
             const CallSettings& settings, int max_workers);

  std::vector<std::shared_ptr<const Entry>> entries() const;
  size_t peak_arena_bytes() const;

 private:
  Result<std::shared_ptr<const Entry>> pick(std::span<const TensorView> inputs, const CallSettings& settings);
  std::shared_ptr<const Entry> find(std::span<const TensorView> inputs, const CallSettings& settings) const;
  std::unique_ptr<ExecutionContext> take_context(const Entry& entry);

  std::unique_ptr<EntryBuilder> builder_;
  mutable std::mutex entries_mutex_;  // guards entries_
  std::vector<std::shared_ptr<const Entry>> entries_;
  std::mutex build_mutex_;  // held while the builder works
  std::mutex contexts_mutex_;
  struct Idle {
    const Entry* entry;
    std::unique_ptr<ExecutionContext> context;
  };
  std::vector<Idle> idle_;
};

}  // namespace edge_infer
