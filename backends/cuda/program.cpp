#include "backends/cuda/program.h"

#include <utility>

namespace edge_infer::cuda {

Result<std::unique_ptr<CudaProgram>> CudaProgram::bind(Program program,
                                                       std::shared_ptr<const CudaDevice> device,
                                                       ConstantSource& constants,
                                                       const CudaProgramOptions& options) {
  if (options.executions < 1)
    return fail(ErrorCode::kInvalidArgument, "{} executions of a program, expected at least one",
                options.executions);
  std::unique_ptr<CudaProgram> bound(new CudaProgram);
  bound->options_ = options;
  EDGE_INFER_ASSIGN(bound->plan_, CudaPlan::bind(std::move(program), std::move(device), constants));
  if (options.prepare) {
    EDGE_INFER_ASSIGN(std::unique_ptr<CudaExecution> first, bound->take());
    const Status prepared = options.mode == LaunchMode::kGraphs ? first->prepare() : Status{};
    bound->give_back(std::move(first), {});
    if (!prepared) return std::unexpected(prepared.error());
  }
  return bound;
}

Result<std::unique_ptr<CudaExecution>> CudaProgram::take() const {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [this] { return !idle_.empty() || executions_ < options_.executions; });
  if (!idle_.empty()) {
    std::unique_ptr<CudaExecution> execution = std::move(idle_.back());
    idle_.pop_back();
    return execution;
  }
  ++executions_;
  lock.unlock();
  Result<std::unique_ptr<CudaExecution>> made = CudaExecution::create(*plan_);
  if (made) return made;
  lock.lock();
  --executions_;
  returned_.notify_one();
  // Memory for one more is not there: wait for one of those that exist.
  if (made.error().code != ErrorCode::kResourceExhausted || executions_ == 0) return made;
  returned_.wait(lock, [this] { return !idle_.empty() || executions_ == 0; });
  if (idle_.empty()) return made;
  std::unique_ptr<CudaExecution> execution = std::move(idle_.back());
  idle_.pop_back();
  return execution;
}

void CudaProgram::give_back(std::unique_ptr<CudaExecution> execution, const ExecutionCounts& before) const {
  const ExecutionCounts& now = execution->counts();
  {
    const std::lock_guard lock(mutex_);
    counts_.graphs += now.graphs - before.graphs;
    counts_.replays += now.replays - before.replays;
    counts_.launches += now.launches - before.launches;
    counts_.growths += now.growths - before.growths;
    idle_.push_back(std::move(execution));
  }
  returned_.notify_one();
}

Status CudaProgram::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const {
  return run(inputs, outputs, options_.mode);
}

Status CudaProgram::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                        LaunchMode mode) const {
  EDGE_INFER_RETURN_IF_ERROR(plan_->device->usable());
  EDGE_INFER_ASSIGN(std::unique_ptr<CudaExecution> execution, take());
  const ExecutionCounts before = execution->counts();
  const Status status = execution->run(inputs, outputs, mode);
  give_back(std::move(execution), before);
  return status;
}

Status CudaProgram::run(RunContext&, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                        int) const {
  return run(inputs, outputs);
}

Result<std::vector<int64_t>> CudaProgram::profile(RunContext&, std::span<const TensorView> inputs,
                                                  std::span<const TensorView> outputs) const {
  EDGE_INFER_ASSIGN(std::unique_ptr<CudaExecution> execution, take());
  const ExecutionCounts before = execution->counts();
  Result<std::vector<int64_t>> times = execution->profile(inputs, outputs);
  give_back(std::move(execution), before);
  return times;
}

CudaProgramStatistics CudaProgram::statistics() const {
  const std::lock_guard lock(mutex_);
  CudaProgramStatistics statistics;
  statistics.counts = counts_;
  statistics.executions = static_cast<size_t>(executions_);
  statistics.weight_bytes = plan_->constant_bytes;
  for (const auto& execution : idle_) {
    statistics.device_bytes += execution->device_bytes();
    statistics.pinned_bytes += execution->pinned_bytes();
  }
  return statistics;
}

std::vector<SymbolValues> CudaProgram::classes() const {
  const std::lock_guard lock(mutex_);
  return idle_.empty() ? std::vector<SymbolValues>{} : idle_.back()->classes();
}

}  // namespace edge_infer::cuda
