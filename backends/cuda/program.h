// CudaProgram: the Executable of a CUDA device.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backends/cuda/execution.h"

namespace edge_infer::cuda {

struct CudaProgramOptions {
  LaunchMode mode = LaunchMode::kGraphs;
  // Calls that run side by side, each with memory of its own; further ones wait for their turn.
  int executions = 2;
  // Makes the first execution's memory in bind(), and its graphs where the mode is kGraphs, so that no call
  // does.
  bool prepare = true;
  // The stream copies a call's block in front of the kernels, even where a kernel could read it: to compare.
  bool copy_block = false;
};

struct CudaProgramStatistics {
  ExecutionCounts counts;  // of all executions
  size_t executions = 0;
  size_t weight_bytes = 0;  // of this program's constants, those that it shares with others, too
  size_t device_bytes = 0;  // temporaries and blocks of all executions
  size_t pinned_bytes = 0;
};

// Thread-safe.
class CudaProgram final : public Executable, public MemoryHolder {
 public:
  ~CudaProgram() override;

  // The kernels are loaded on the device. Uploads the constants that are not there yet. Errors: as
  // CudaPlan::bind and CudaExecution::create.
  static Result<std::unique_ptr<CudaProgram>> bind(Program program, std::shared_ptr<const CudaDevice> device,
                                                   ConstantSource& constants,
                                                   const CudaProgramOptions& options = {});

  // Inputs and outputs are dense, in host memory; inputs satisfy the entry's guards; outputs hold exactly
  // what the program computes. Errors: kInvalidArgument, kResourceExhausted (naming bytes: a smaller call may
  // work), kDeviceLost (the device is lost: so is every later call), kInternal.
  Status run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const;
  // The same in the other mode, to compare.
  Status run(std::span<const TensorView> inputs, std::span<const TensorView> outputs, LaunchMode mode) const;

  // Contexts hold nothing: calls share the program's executions.
  std::unique_ptr<RunContext> make_context() const override { return std::make_unique<RunContext>(); }
  // Workers are not used.
  Status run(RunContext& context, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
             int max_workers) const override;
  // Each kernel by itself, between two events.
  Result<std::vector<int64_t>> profile(RunContext& context, std::span<const TensorView> inputs,
                                       std::span<const TensorView> outputs) const override;
  // Memory and graphs of all executions, for all classes; a call that needs larger memory remakes those of
  // its execution at once. Where memory for several executions is not there, calls share those that are.
  Status prepare() const override;
  const Program& program() const override { return plan_->program; }
  // Of all executions together.
  size_t peak_arena_bytes() const override;
  void release_idle() const override;
  const CudaDevice& device() const { return *plan_->device; }
  const CudaPlan& plan() const { return *plan_; }
  CudaProgramStatistics statistics() const;
  ExecutableFacts facts() const override;
  // Largest sizes of the classes that have graphs, of the execution used last.
  std::vector<SymbolValues> classes() const;

 private:
  CudaProgram() = default;
  // An execution with what it had counted before this call.
  struct Taken {
    std::unique_ptr<CudaExecution> execution;
    ExecutionCounts counts;
    size_t device_bytes = 0, pinned_bytes = 0;
  };
  Result<Taken> take() const;
  // The mode of calls that name none.
  LaunchMode mode() const;
  Taken take_idle() const;
  void give_back(Taken taken) const;

  std::unique_ptr<const CudaPlan> plan_;
  CudaProgramOptions options_;
  mutable std::atomic<bool> prepared_{false};  // prepare() was called
  mutable std::mutex mutex_;                   // guards what follows
  mutable std::condition_variable returned_;
  mutable std::vector<std::unique_ptr<CudaExecution>> idle_;  // the last one ran last
  mutable int executions_ = 0;
  mutable CudaProgramStatistics statistics_;  // without what the plan knows
  mutable size_t peak_device_bytes_ = 0;
};

}  // namespace edge_infer::cuda
