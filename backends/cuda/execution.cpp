#include "backends/cuda/execution.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace edge_infer::cuda {
namespace {

// A single query is done by then; waking a sleeping thread would take longer than looking again.
constexpr std::chrono::microseconds kSpin{2000};

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Result<std::unique_ptr<CudaExecution>> CudaExecution::create(const CudaPlan& plan,
                                                             CudaDevice::Scarcity scarcity) {
  const CudaDevice& device = *plan.device;
  EDGE_INFER_RETURN_IF_ERROR(device.usable());
  const CurrentContext current(device);
  std::unique_ptr<CudaExecution> execution(new CudaExecution(plan));
  EDGE_INFER_RETURN_IF_ERROR(
      device.check(device.driver().stream_create(&execution->stream_, kStreamNonBlocking), "make a stream"));
  for (const auto& [event, flags] : {std::pair{&execution->done_, kEventDisableTiming},
                                     std::pair{&execution->wakes_, kEventDisableTiming | kEventBlockingSync}})
    EDGE_INFER_RETURN_IF_ERROR(device.check(device.driver().event_create(event, flags), "make an event"));
  EDGE_INFER_ASSIGN(ExecutionMemory memory,
                    ExecutionMemory::allocate(plan, plan.classes.initial_capacity(), scarcity));
  execution->memory_ = std::make_unique<ExecutionMemory>(std::move(memory));
  return execution;
}

CudaExecution::~CudaExecution() {
  const Driver& driver = plan_.device->driver();
  const CurrentContext current(*plan_.device);
  if (stream_ != nullptr) driver.stream_synchronize(stream_);
  classes_.clear();
  memory_.reset();
  for (const EventHandle event : {done_, wakes_})
    if (event != nullptr) driver.event_destroy(event);
  if (stream_ != nullptr) driver.stream_destroy(stream_);
}

Status CudaExecution::reserve(const SymbolValues& needed) {
  if (memory_ != nullptr && needed.within(memory_->capacity)) return {};
  const SymbolValues old = memory_ != nullptr ? memory_->capacity : plan_.classes.initial_capacity();
  const SymbolValues larger = plan_.classes.grown(old, needed);
  // Nothing runs between two calls, so what the old graphs and addresses stood for can go first: the peak is
  // one memory, not two.
  classes_.clear();
  memory_.reset();
  Result<ExecutionMemory> memory = ExecutionMemory::allocate(plan_, larger);
  if (!memory && memory.error().code == ErrorCode::kResourceExhausted) {
    SymbolValues exact = old;
    for (size_t i = 0; i < exact.count; ++i) exact.of[i] = std::max(old.of[i], needed.of[i]);
    memory = ExecutionMemory::allocate(plan_, exact);
  }
  // Calls of several sequences can be made smaller. The others are worth what is only kept for later, and
  // waiting for calls that run now.
  if (!memory && memory.error().code == ErrorCode::kResourceExhausted && plan_.classes.is_least(needed)) {
    SymbolValues least = plan_.classes.initial_capacity();
    for (size_t i = 0; i < least.count; ++i) least.of[i] = std::max(least.of[i], needed.of[i]);
    memory = ExecutionMemory::allocate(plan_, least, CudaDevice::Scarcity::kWait);
  }
  if (!memory) {
    const Error why = memory.error();
    // The calls that were served go on being served.
    Result<ExecutionMemory> again = ExecutionMemory::allocate(plan_, old);
    if (again) memory_ = std::make_unique<ExecutionMemory>(*std::move(again));
    return std::unexpected(why);
  }
  memory_ = std::make_unique<ExecutionMemory>(*std::move(memory));
  ++counts_.growths;
  return prepared_ ? prepare(true) : Status();
}

Result<CudaExecution::Class*> CudaExecution::find_class(const SymbolValues& limits, uint64_t conditions,
                                                        LaunchMode mode) {
  const auto found = std::ranges::find_if(classes_, [&](const Class& c) {
    return c.launches.conditions() == conditions && c.launches.limits() == limits;
  });
  const bool seen = found != classes_.end();
  if (seen) {
    classes_.splice(classes_.begin(), classes_, found);
  } else {
    EDGE_INFER_ASSIGN(LaunchList launches, LaunchList::make(plan_, *memory_, limits, conditions));
    if (classes_.size() >= kMostGraphs) classes_.pop_back();
    classes_.push_front({std::move(launches), GraphExec()});
  }
  Class& chosen = classes_.front();
  const bool wants_graph = mode == LaunchMode::kGraphs || (mode == LaunchMode::kLazyGraphs && seen);
  if (wants_graph && chosen.graph.handle() == nullptr) {
    EDGE_INFER_ASSIGN(chosen.graph, chosen.launches.instantiate(stream_));
    ++counts_.graphs;
  }
  return &chosen;
}

size_t CudaExecution::bytes_of(size_t buffer) const {
  return static_cast<size_t>(sizes_.values[plan_.elements[buffer]] *
                             dtype_size(plan_.program.buffers[buffer].dtype));
}

void CudaExecution::fill_block(const BlockLayout& layout, std::span<const TensorView> inputs) {
  std::byte* block = memory_->pinned.data();
  auto* integers = reinterpret_cast<int64_t*>(block + layout.integers);
  for (const CudaPlan::Call& call : plan_.calls)
    for (size_t i = 0; i < call.integers.size(); ++i)
      integers[call.first_integer + i] = sizes_.values[call.integers[i]];
  for (size_t u = 0; u < layout.unit_lists.size(); ++u) {
    auto* units = reinterpret_cast<WorkUnit*>(block + layout.unit_lists[u]);
    fill_units(plan_.table.offsets(u, inputs), plan_.program.unit_lists[u].block_rows,
               {units, static_cast<size_t>(sizes_.values[plan_.unit_counts[u]])});
  }
  for (size_t b = 0; b < plan_.program.buffers.size(); ++b) {
    const BufferDecl& decl = plan_.program.buffers[b];
    if (decl.role != BufferRole::kInput) continue;
    const auto index = static_cast<size_t>(decl.index);
    if (const size_t bytes = bytes_of(b); bytes > 0)
      std::memcpy(block + layout.inputs[index], inputs[index].data, bytes);
  }
}

Status CudaExecution::enqueue(const Class& chosen, LaunchMode mode, std::span<const EventHandle> marks) {
  const CudaDevice& device = *plan_.device;
  const Driver& driver = device.driver();
  const BlockLayout& layout = chosen.launches.layout();
  if (plan_.read_block == nullptr && layout.block_bytes > 0)
    EDGE_INFER_RETURN_IF_ERROR(
        device.check(driver.copy_to_device_async(memory_->block.address(), memory_->pinned.data(),
                                                 layout.block_bytes, stream_),
                     "copy a block"));
  if (mode != LaunchMode::kLaunches && chosen.graph.handle() != nullptr) {
    EDGE_INFER_RETURN_IF_ERROR(
        device.check(driver.graph_launch(chosen.graph.handle(), stream_), "replay a graph"));
    ++counts_.replays;
  } else {
    EDGE_INFER_RETURN_IF_ERROR(chosen.launches.launch(stream_, marks));
    counts_.launches += chosen.launches.size();
  }
  for (size_t b = 0; b < plan_.program.buffers.size(); ++b) {
    const BufferDecl& decl = plan_.program.buffers[b];
    if (decl.role != BufferRole::kOutput) continue;
    const BlockLayout::Output& output = layout.outputs[static_cast<size_t>(decl.index)];
    const size_t bytes = bytes_of(b);
    if (output.direct || bytes == 0) continue;
    EDGE_INFER_RETURN_IF_ERROR(
        device.check(driver.copy_to_host_async(memory_->pinned.data() + output.offset,
                                               memory_->block.address() + output.offset, bytes, stream_),
                     "copy an output"));
  }
  return device.check(driver.event_record(done_, stream_), "record an event");
}

Status CudaExecution::wait() {
  const CudaDevice& device = *plan_.device;
  const auto begin = std::chrono::steady_clock::now();
  do {
    const DriverCode code = device.driver().event_query(done_);
    if (code != driver_code::kNotReady) return device.check(code, "run a program");
    pause_cpu();
  } while (std::chrono::steady_clock::now() - begin < kSpin);
  // An event that wakes is one that the GPU interrupts a processor for; had done_ been one, that could be the
  // processor that looks, just then.
  EDGE_INFER_RETURN_IF_ERROR(device.check(device.driver().event_record(wakes_, stream_), "run a program"));
  return device.check(device.driver().event_synchronize(wakes_), "run a program");
}

void CudaExecution::read_outputs(const BlockLayout& layout, std::span<const TensorView> outputs) const {
  for (size_t b = 0; b < plan_.program.buffers.size(); ++b) {
    const BufferDecl& decl = plan_.program.buffers[b];
    if (decl.role != BufferRole::kOutput) continue;
    const auto index = static_cast<size_t>(decl.index);
    if (const size_t bytes = bytes_of(b); bytes > 0)
      std::memcpy(outputs[index].data, memory_->pinned.data() + layout.outputs[index].offset, bytes);
  }
}

Result<CudaExecution::Class*> CudaExecution::begin(std::span<const TensorView> inputs,
                                                   std::span<const TensorView> outputs, LaunchMode mode) {
  const CudaDevice& device = *plan_.device;
  EDGE_INFER_RETURN_IF_ERROR(device.usable());
  EDGE_INFER_RETURN_IF_ERROR(plan_.table.bind_symbols(sizes_, inputs));
  plan_.table.evaluate(sizes_);
  EDGE_INFER_RETURN_IF_ERROR(plan_.table.check_outputs(sizes_, outputs));
  SymbolValues symbols;
  symbols.count = plan_.program.symbols.size();
  std::copy_n(sizes_.symbols.begin(), symbols.count, symbols.of.begin());
  EDGE_INFER_RETURN_IF_ERROR(reserve(symbols));
  // Sizes grow with the symbols in all programs that the compiler makes; another one is refused, not run
  // beyond its memory.
  for (const auto* list : {&plan_.slot_bytes, &plan_.elements})
    for (const SizeTable::Index index : *list)
      if (sizes_.values[index] < 0 || sizes_.values[index] > memory_->sizes[index])
        return fail(ErrorCode::kInvalidArgument, "program \"{}\": a size of {}, room for {}",
                    plan_.program.name, sizes_.values[index], memory_->sizes[index]);
  const SymbolValues limits = plan_.classes.limits_for(symbols, memory_->capacity);
  EDGE_INFER_ASSIGN(Class * chosen, find_class(limits, plan_.conditions_at(sizes_.symbols), mode));
  fill_block(chosen->launches.layout(), inputs);
  return chosen;
}

Status CudaExecution::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                          LaunchMode mode) {
  const CudaDevice& device = *plan_.device;
  const CurrentContext current(device);
  EDGE_INFER_ASSIGN(const Class* chosen, begin(inputs, outputs, mode));
  Status status = enqueue(*chosen, mode);
  if (status) status = wait();
  // Whatever was enqueued has to be over before its memory is used again.
  if (!status) device.driver().stream_synchronize(stream_);
  if (status) read_outputs(chosen->launches.layout(), outputs);
  return status;
}

Result<std::vector<int64_t>> CudaExecution::profile(std::span<const TensorView> inputs,
                                                    std::span<const TensorView> outputs) {
  const CudaDevice& device = *plan_.device;
  const CurrentContext current(device);
  EDGE_INFER_ASSIGN(const Class* chosen, begin(inputs, outputs, LaunchMode::kLaunches));
  std::vector<EventHandle> marks(chosen->launches.size() + 1, nullptr);
  Status status;
  for (EventHandle& mark : marks)
    if (status) status = device.check(device.driver().event_create(&mark, 0), "make an event");
  if (status) status = enqueue(*chosen, LaunchMode::kLaunches, marks);
  if (status) status = wait();
  if (!status) device.driver().stream_synchronize(stream_);
  std::vector<int64_t> times(plan_.calls.size(), 0);
  size_t launch = plan_.read_block == nullptr ? 0 : 1;
  for (size_t c = 0; c < plan_.calls.size() && status; ++c) {
    if ((chosen->launches.conditions() >> plan_.calls[c].condition & 1U) == 0) continue;
    float milliseconds = 0;
    status = device.check(device.driver().event_elapsed_time(&milliseconds, marks[launch], marks[launch + 1]),
                          "read an event");
    times[c] = std::max<int64_t>(std::llround(static_cast<double>(milliseconds) * 1e6), 1);
    ++launch;
  }
  for (const EventHandle mark : marks)
    if (mark != nullptr) device.driver().event_destroy(mark);
  if (!status) return std::unexpected(status.error());
  read_outputs(chosen->launches.layout(), outputs);
  return times;
}

Status CudaExecution::prepare(bool from_now_on) {
  EDGE_INFER_RETURN_IF_ERROR(plan_.device->usable());
  prepared_ = prepared_ || from_now_on;
  const CurrentContext current(*plan_.device);
  std::vector<SymbolValues> classes = plan_.classes.all(memory_->capacity);
  if (classes.size() > kMostGraphs) classes.resize(kMostGraphs);
  for (const SymbolValues& limits : classes) {
    std::vector<int64_t> symbols(limits.of.begin(),
                                 limits.of.begin() + static_cast<std::ptrdiff_t>(limits.count));
    symbols.push_back(1);
    EDGE_INFER_ASSIGN(const Class* made,
                      find_class(limits, plan_.conditions_at(symbols), LaunchMode::kGraphs));
    static_cast<void>(made);
  }
  return plan_.device->check(plan_.device->driver().stream_synchronize(stream_), "upload graphs");
}

std::vector<SymbolValues> CudaExecution::classes() const {
  std::vector<SymbolValues> limits;
  for (const Class& c : classes_) limits.push_back(c.launches.limits());
  return limits;
}

}  // namespace edge_infer::cuda
