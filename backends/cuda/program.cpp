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
  bound->plan_->device->add_holder(*bound);
  if (options.prepare) {
    const StartTimer timer(bound->plan_->device->start_times(), StartTimes::kGraphs);
    EDGE_INFER_ASSIGN(Taken first, bound->take());
    const Status prepared = options.mode == LaunchMode::kGraphs ? first.execution->prepare(false) : Status{};
    bound->give_back(std::move(first));
    if (!prepared) return std::unexpected(prepared.error());
  }
  const StartTimer timer(bound->plan_->device->start_times(), StartTimes::kWait);
  EDGE_INFER_RETURN_IF_ERROR(bound->plan_->constants.wait());
  return bound;
}

CudaProgram::~CudaProgram() {
  if (plan_ != nullptr) plan_->device->remove_holder(*this);
}

void CudaProgram::release_idle() const {
  std::vector<std::unique_ptr<CudaExecution>> idle;
  {
    const std::lock_guard lock(mutex_);
    idle.swap(idle_);
    executions_ -= static_cast<int>(idle.size());
    for (const auto& execution : idle) {
      statistics_.device_bytes -= execution->device_bytes();
      statistics_.pinned_bytes -= execution->pinned_bytes();
    }
  }
  idle.clear();
  returned_.notify_all();
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
  const CudaDevice& device = *plan_->device;
  std::unique_lock lock(mutex_);
  while (true) {
    returned_.wait(lock, [this] { return !idle_.empty() || executions_ < options_.executions; });
    if (!idle_.empty()) {
      device.begin_turn();
      return take_idle();
    }
    // A second execution is worth no waiting: the first one will be back.
    const bool is_first = executions_++ == 0;
    lock.unlock();
    device.begin_turn();
    Result<std::unique_ptr<CudaExecution>> made =
        CudaExecution::create(*plan_, is_first ? CudaDevice::Scarcity::kWait : CudaDevice::Scarcity::kFail);
    if (made) return Taken{.execution = *std::move(made)};
    device.end_turn();
    lock.lock();
    --executions_;
    returned_.notify_one();
    if (is_first || made.error().code != ErrorCode::kResourceExhausted) return std::unexpected(made.error());
    returned_.wait(lock, [this] { return !idle_.empty() || executions_ == 0; });
  }
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
  if (plan_->device->is_scarce()) release_idle();
  plan_->device->end_turn();
}

Status CudaProgram::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const {
  return run(inputs, outputs, mode());
}

LaunchMode CudaProgram::mode() const {
  return options_.mode == LaunchMode::kLazyGraphs && prepared_.load() ? LaunchMode::kGraphs : options_.mode;
}

Status CudaProgram::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                        LaunchMode mode) const {
  EDGE_INFER_RETURN_IF_ERROR(plan_->device->usable());
  EDGE_INFER_ASSIGN(Taken taken, take());
  Status status;
  if (prepared_.load() && !taken.execution->prepared()) status = taken.execution->prepare(true);
  if (status) status = taken.execution->run(inputs, outputs, mode);
  give_back(std::move(taken));
  return status;
}

Status CudaProgram::prepare() const {
  EDGE_INFER_RETURN_IF_ERROR(plan_->device->usable());
  if (options_.mode == LaunchMode::kLaunches) return {};
  prepared_.store(true);
  // Those in use prepare themselves at their next call.
  std::vector<Taken> taken;
  int missing = 0;
  {
    const std::lock_guard lock(mutex_);
    while (!idle_.empty()) taken.push_back(take_idle());
    missing = options_.executions - executions_;
    executions_ += missing;
  }
  Status status;
  for (; missing > 0; --missing) {
    Result<std::unique_ptr<CudaExecution>> made = CudaExecution::create(*plan_);
    if (!made) {
      if (made.error().code != ErrorCode::kResourceExhausted || taken.empty())
        status = std::unexpected(made.error());
      break;
    }
    taken.push_back({.execution = *std::move(made)});
  }
  for (Taken& one : taken) {
    if (status && !one.execution->prepared()) status = one.execution->prepare(true);
    give_back(std::move(one));
  }
  {
    const std::lock_guard lock(mutex_);
    executions_ -= missing;
  }
  returned_.notify_all();
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
  statistics.weight_bytes = plan_->constants.bytes;
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
