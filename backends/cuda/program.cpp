#include "backends/cuda/program.h"

#include <algorithm>
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
  EDGE_INFER_ASSIGN(std::unique_ptr<CudaPlan> plan,
                    CudaPlan::bind(std::move(program), std::move(device), constants));
  if (options.copy_block) plan->read_block = nullptr;
  bound->plan_ = std::move(plan);
  if (options.prepare) {
    EDGE_INFER_ASSIGN(Taken first, bound->take());
    const Status prepared = options.mode == LaunchMode::kGraphs ? first.execution->prepare() : Status{};
    bound->give_back(std::move(first));
    if (!prepared) return std::unexpected(prepared.error());
  }
  return bound;
}

CudaProgram::Taken CudaProgram::take_idle() const {
  Taken taken;
  taken.execution = std::move(idle_.back());
  idle_.pop_back();
  taken.counts = taken.execution->counts();
  taken.device_bytes = taken.execution->device_bytes();
  taken.pinned_bytes = taken.execution->pinned_bytes();
  return taken;
}

Result<CudaProgram::Taken> CudaProgram::take() const {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [this] { return !idle_.empty() || executions_ < options_.executions; });
  if (!idle_.empty()) return take_idle();
  ++executions_;
  lock.unlock();
  Result<std::unique_ptr<CudaExecution>> made = CudaExecution::create(*plan_);
  if (made) return Taken{.execution = *std::move(made)};
  lock.lock();
  --executions_;
  returned_.notify_one();
  // Memory for one more is not there: wait for one of those that exist.
  if (made.error().code == ErrorCode::kResourceExhausted) {
    returned_.wait(lock, [this] { return !idle_.empty() || executions_ == 0; });
    if (!idle_.empty()) return take_idle();
  }
  return std::unexpected(made.error());
}

void CudaProgram::give_back(Taken taken) const {
  const ExecutionCounts& now = taken.execution->counts();
  const size_t device_bytes = taken.execution->device_bytes(), pinned_bytes = taken.execution->pinned_bytes();
  {
    const std::lock_guard lock(mutex_);
    ExecutionCounts& counts = statistics_.counts;
    counts.graphs += now.graphs - taken.counts.graphs;
    counts.replays += now.replays - taken.counts.replays;
    counts.launches += now.launches - taken.counts.launches;
    counts.growths += now.growths - taken.counts.growths;
    statistics_.device_bytes += device_bytes - taken.device_bytes;
    statistics_.pinned_bytes += pinned_bytes - taken.pinned_bytes;
    peak_device_bytes_ = std::max(peak_device_bytes_, statistics_.device_bytes);
    idle_.push_back(std::move(taken.execution));
  }
  returned_.notify_one();
}

Status CudaProgram::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const {
  return run(inputs, outputs, options_.mode);
}

Status CudaProgram::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                        LaunchMode mode) const {
  EDGE_INFER_RETURN_IF_ERROR(plan_->device->usable());
  EDGE_INFER_ASSIGN(Taken taken, take());
  const Status status = taken.execution->run(inputs, outputs, mode);
  give_back(std::move(taken));
  return status;
}

Status CudaProgram::run(RunContext&, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                        int) const {
  return run(inputs, outputs);
}

Result<std::vector<int64_t>> CudaProgram::profile(RunContext&, std::span<const TensorView> inputs,
                                                  std::span<const TensorView> outputs) const {
  EDGE_INFER_ASSIGN(Taken taken, take());
  Result<std::vector<int64_t>> times = taken.execution->profile(inputs, outputs);
  give_back(std::move(taken));
  return times;
}

CudaProgramStatistics CudaProgram::statistics() const {
  const std::lock_guard lock(mutex_);
  CudaProgramStatistics statistics = statistics_;
  statistics.executions = static_cast<size_t>(executions_);
  statistics.weight_bytes = plan_->constant_bytes;
  return statistics;
}

ExecutableFacts CudaProgram::facts() const {
  const CudaProgramStatistics s = statistics();
  ExecutableFacts facts{.weight_bytes = s.weight_bytes,
                        .arena_bytes = s.device_bytes,
                        .pinned_bytes = s.pinned_bytes,
                        .replays = s.counts.replays};
  for (const KernelRef& ref : program().kernels)
    if (const CudaKernel* kernel = device().find_kernel(ref.name)) facts.code_bytes += kernel->code_bytes;
  for (const SymbolValues& limits : classes()) {
    const auto end = limits.of.begin() + static_cast<std::ptrdiff_t>(limits.count);
    facts.replay_classes.emplace_back(limits.of.begin(), end);
  }
  std::ranges::sort(facts.replay_classes);
  return facts;
}

size_t CudaProgram::peak_arena_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_device_bytes_;
}

std::vector<SymbolValues> CudaProgram::classes() const {
  const std::lock_guard lock(mutex_);
  return idle_.empty() ? std::vector<SymbolValues>{} : idle_.back()->classes();
}

}  // namespace edge_infer::cuda
