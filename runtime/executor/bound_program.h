// BoundProgram: the Executable of devices whose kernels are host functions: a Program with its kernels
// loaded and its constants located.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/device/device.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/call_sizes.h"
#include "runtime/guards/guard_set.h"
#include "runtime/program/program.h"
#include "runtime/program/unit_list.h"

namespace edge_infer {

// Progress of one phase of a running call, on a cache line of its own.
struct alignas(64) PhaseProgress {
  std::atomic<int64_t> next{0};  // the tile to take
  std::atomic<int64_t> done{0};  // tiles finished
};

// The mutable state of one call at a time: arena, symbol values, kernel arguments. Reused over calls; a call
// at sizes already seen allocates nothing.
struct ExecutionContext final : RunContext {
  Arena arena;
  Arena scratch;
  CallSizes sizes;
  std::vector<int64_t> integers;  // of all calls, in order
  std::vector<void*> buffers;     // address of each buffer
  std::vector<void*> arguments;   // buffers of all calls, in order
  std::vector<int64_t> domain;    // rows, columns, cost of each call
  std::vector<std::vector<WorkUnit>> units;
  std::unique_ptr<PhaseProgress[]> progress;  // of each phase, for calls with several workers
  size_t arena_bytes = 0;
  // Time spent in each call of the program, in order of phases and calls, summed up over runs with one
  // worker; one number a call turns it on, an empty vector is off.
  std::vector<int64_t> call_nanoseconds;
};

class BoundProgram final : public Executable {
 public:
  // Errors: kNotFound (kernel), what `constants` reports, kInternal (a program that does not verify).
  static Result<std::unique_ptr<BoundProgram>> bind(Program program, const Device& device,
                                                    ConstantSource& constants);

  // Runs with at most `max_workers` workers of the process' budget. Inputs satisfy the entry's guards.
  // Outputs are dense and hold exactly the bytes that output_bytes() says. Errors: kResourceExhausted,
  // kInvalidArgument (a symbol outside of its range, output sizes that do not match: found and expected are
  // named).
  Status run(ExecutionContext& context, std::span<const TensorView> inputs,
             std::span<const TensorView> outputs, int max_workers) const;

  std::unique_ptr<RunContext> make_context() const override { return std::make_unique<ExecutionContext>(); }
  // `context` is an ExecutionContext.
  Status run(RunContext& context, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
             int max_workers) const override;
  // On one worker.
  Result<std::vector<int64_t>> profile(RunContext& context, std::span<const TensorView> inputs,
                                       std::span<const TensorView> outputs) const override;
  const Program& program() const override { return program_; }
  size_t call_count() const { return call_count_; }
  size_t peak_arena_bytes() const override { return peak_arena_bytes_.load(std::memory_order_relaxed); }

 private:
  // Kernel call with its size expressions compiled and its place in the context's flat vectors.
  struct BoundCall {
    LoadedKernel kernel;
    std::vector<SizeTable::Index> integers;
    SizeTable::Index rows = 0, columns = 0, cost = 0;
    int64_t row_grain = 1, column_grain = 1;
    size_t first_integer = 0, first_argument = 0, index = 0;
  };
  struct BoundPhase {
    Phase::Split split = Phase::Split::kRows;
    SymCode when;  // over the symbols and, last, the number of workers
    int64_t row_block = 0;
    std::vector<BoundCall> calls;
  };
  // How one phase is cut for a team: tiles are numbered row-major over row blocks and column blocks.
  struct Tiling {
    int64_t rows = 0, columns = 0, row_block = 1, column_block = 1, row_tiles = 0, column_tiles = 0;
    int64_t tiles() const { return row_tiles * column_tiles; }
  };

  Status bind_phases(const Device& device);
  bool runs(const BoundPhase& phase, const ExecutionContext& context) const {
    return phase.when.evaluate(context.sizes.symbols) != 0;
  }
  Status bind_symbols(ExecutionContext& context, std::span<const TensorView> inputs) const;
  Status evaluate_sizes(ExecutionContext& context) const;
  Status place_buffers(ExecutionContext& context, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) const;
  Tiling tile(const BoundPhase& phase, const ExecutionContext& context, int workers) const;
  void run_tile(const BoundPhase& phase, const Tiling& tiling, int64_t tile, const ExecutionContext& context,
                void* scratch, int64_t* call_nanoseconds) const;
  void run_phases(ExecutionContext& context, int workers) const;

  Program program_;
  std::vector<BoundPhase> phases_;
  std::vector<const void*> constants_;
  SizeTable table_;
  std::vector<SizeTable::Index> slot_bytes_;
  size_t scratch_bytes_ = 0;  // per worker
  size_t integer_count_ = 0, argument_count_ = 0, call_count_ = 0;
  mutable std::atomic<size_t> peak_arena_bytes_{0};
};

}  // namespace edge_infer
