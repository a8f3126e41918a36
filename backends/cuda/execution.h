// CudaExecution: everything that one call of a program needs while it runs: a stream, memory at a capacity,
// and the graphs that hold its addresses. One call at a time; several executions of a program run side by
// side.
#pragma once

#include <list>
#include <memory>
#include <span>

#include "backends/cuda/launch_list.h"

namespace edge_infer::cuda {

enum class LaunchMode {
  kGraphs,      // one replay a call
  kLazyGraphs,  // the first call of a class launches its kernels one by one; from the second on as kGraphs
  kLaunches,    // each kernel by itself: no graph is made
};

struct ExecutionCounts {
  size_t graphs = 0;    // made so far
  size_t replays = 0;   // of graphs
  size_t launches = 0;  // of single kernels
  size_t growths = 0;   // times that memory was replaced by larger one
};

class CudaExecution {
 public:
  // Graphs at most, the least recently used one goes.
  static constexpr size_t kMostGraphs = 6;

  // `plan` outlives the execution. Errors: kResourceExhausted, kDeviceLost.
  static Result<std::unique_ptr<CudaExecution>> create(
      const CudaPlan& plan, CudaDevice::Scarcity scarcity = CudaDevice::Scarcity::kFail);
  CudaExecution(const CudaExecution&) = delete;
  CudaExecution& operator=(const CudaExecution&) = delete;
  ~CudaExecution();

  // Returns when the outputs are written. Errors: kInvalidArgument (as BoundProgram::run), kResourceExhausted
  // (then a smaller call may work), kDeviceLost.
  Status run(std::span<const TensorView> inputs, std::span<const TensorView> outputs, LaunchMode mode);

  // Runs once, each kernel by itself, and says how long each call of the program took, in nanoseconds; 0 for
  // those that did not run. Errors: as run().
  Result<std::vector<int64_t>> profile(std::span<const TensorView> inputs,
                                       std::span<const TensorView> outputs);

  // Makes the graphs that calls of all sizes up to the capacity need, off the path of a call. `from_now_on`:
  // a call that needs larger memory then makes those of all its classes, too.
  Status prepare(bool from_now_on);
  bool prepared() const { return prepared_; }

  const ExecutionCounts& counts() const { return counts_; }
  size_t device_bytes() const { return memory_ == nullptr ? 0 : memory_->device_bytes(); }
  size_t pinned_bytes() const { return memory_ == nullptr ? 0 : memory_->pinned.bytes(); }
  // Sizes of the classes that have graphs, most recently used first.
  std::vector<SymbolValues> classes() const;

 private:
  struct Class {
    LaunchList launches;
    GraphExec graph;
  };

  explicit CudaExecution(const CudaPlan& plan) : plan_(plan) {}
  Status reserve(const SymbolValues& needed);
  Result<Class*> find_class(const SymbolValues& limits, uint64_t conditions, LaunchMode mode);
  // What a call's sizes ask for, with the block filled.
  Result<Class*> begin(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                       LaunchMode mode);
  void fill_block(const BlockLayout& layout, std::span<const TensorView> inputs);
  Status enqueue(const Class& chosen, LaunchMode mode, std::span<const EventHandle> marks = {});
  Status wait();
  void read_outputs(const BlockLayout& layout, std::span<const TensorView> outputs) const;
  size_t bytes_of(size_t buffer) const;

  const CudaPlan& plan_;
  StreamHandle stream_ = nullptr;
  EventHandle done_ = nullptr, wakes_ = nullptr;  // the second where the thread sleeps
  CallSizes sizes_;
  // On the heap, for the classes keep its address. Null after a failed growth.
  std::unique_ptr<ExecutionMemory> memory_;
  std::list<Class> classes_;  // most recently used first
  ExecutionCounts counts_;
  bool prepared_ = false;
};

}  // namespace edge_infer::cuda
