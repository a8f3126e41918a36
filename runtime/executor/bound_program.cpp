#include "runtime/executor/bound_program.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/cpu.h"
#include "runtime/executor/team.h"

namespace edge_infer {
namespace {

// Work that a further worker must bring, in ns: several barriers' worth.
constexpr int64_t kCostPerWorker = 20'000;
// A GEMM tile of this many rows keeps its operands in L2 while a weight panel is reused.
constexpr int64_t kTileRows = 256;

// Rows a tile of a product below which what its weights cost to fetch shows: no reason to make more tiles.
constexpr int64_t kRowsWorthATile = 32;

int64_t round_up(int64_t value, int64_t grain) {
  return (value + grain - 1) / grain * grain;
}

// Rows of a block when `rows` go in `blocks` equal ones, of whole grains where that costs no worker its
// share.
int64_t equal_blocks(int64_t rows, int64_t blocks, int64_t grain) {
  const int64_t block = (rows + blocks - 1) / blocks, rounded = round_up(block, grain);
  return std::min(rows, rounded - block <= block / 16 ? rounded : block);
}

}  // namespace

Result<std::unique_ptr<BoundProgram>> BoundProgram::bind(Program program, const Device& device,
                                                         ConstantSource& constants) {
  EDGE_INFER_RETURN_IF_ERROR(verify_program(program));
  auto bound = std::unique_ptr<BoundProgram>(new BoundProgram);
  bound->program_ = std::move(program);
  const Program& p = bound->program_;
  EDGE_INFER_ASSIGN(bound->table_, SizeTable::compile(p));
  EDGE_INFER_RETURN_IF_ERROR(bound->bind_phases(device));
  EDGE_INFER_RETURN_IF_ERROR(constants.prepare(p.constants, device));
  for (const ConstantDecl& c : p.constants) {
    if (!c.literal.empty()) {
      bound->constants_.push_back(c.literal.data());
      continue;
    }
    EDGE_INFER_ASSIGN(const void* data, constants.locate(c, device));
    bound->constants_.push_back(data);
  }
  for (const SymInt& bytes : p.slots) {
    EDGE_INFER_ASSIGN(const SizeTable::Index index, bound->table_.add(bytes));
    bound->slot_bytes_.push_back(index);
  }
  return bound;
}

Status BoundProgram::run(RunContext& context, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs, int max_workers) const {
  return run(static_cast<ExecutionContext&>(context), inputs, outputs, max_workers);
}

Result<std::vector<int64_t>> BoundProgram::profile(RunContext& context, std::span<const TensorView> inputs,
                                                   std::span<const TensorView> outputs) const {
  auto& own = static_cast<ExecutionContext&>(context);
  own.call_nanoseconds.assign(call_count_, 0);
  const Status status = run(own, inputs, outputs, 1);
  std::vector<int64_t> times = std::move(own.call_nanoseconds);
  own.call_nanoseconds.clear();
  if (!status) return std::unexpected(status.error());
  return times;
}

Status BoundProgram::bind_phases(const Device& device) {
  std::vector<LoadedKernel> kernels;
  for (const KernelRef& ref : program_.kernels) {
    EDGE_INFER_ASSIGN(const LoadedKernel kernel, device.load_kernel(ref.name));
    if (kernel.function == nullptr)
      return fail(ErrorCode::kUnsupported, "kernel \"{}\" of {} does not run on the host", ref.name,
                  device.target().name);
    scratch_bytes_ = std::max(scratch_bytes_, kernel.scratch_bytes);
    kernels.push_back(kernel);
  }
  scratch_bytes_ = static_cast<size_t>(round_up(static_cast<int64_t>(scratch_bytes_), 4096));
  std::vector<Symbol> with_workers = program_.symbols;
  with_workers.push_back({kWorkersSymbol, {1, 1024}, 1});
  for (const Phase& phase : program_.phases) {
    BoundPhase bound;
    bound.split = phase.split;
    bound.row_block = phase.row_block;
    EDGE_INFER_ASSIGN(bound.when, SymCode::compile(phase.when, with_workers));
    for (const Call& call : phase.calls) {
      BoundCall c;
      c.kernel = kernels[static_cast<size_t>(call.kernel)];
      c.row_grain = call.row_grain;
      c.column_grain = call.column_grain;
      c.first_integer = integer_count_;
      c.first_argument = argument_count_;
      c.index = call_count_++;
      for (const SymInt& e : call.integers) {
        EDGE_INFER_ASSIGN(const SizeTable::Index index, table_.add(e));
        c.integers.push_back(index);
      }
      EDGE_INFER_ASSIGN(c.rows, table_.add(call.rows));
      EDGE_INFER_ASSIGN(c.columns, table_.add(call.columns));
      EDGE_INFER_ASSIGN(c.cost, table_.add(call.row_cost));
      integer_count_ += call.integers.size();
      argument_count_ += call.buffers.size();
      bound.calls.push_back(std::move(c));
    }
    phases_.push_back(std::move(bound));
  }
  return {};
}

Status BoundProgram::bind_symbols(ExecutionContext& context, std::span<const TensorView> inputs) const {
  EDGE_INFER_RETURN_IF_ERROR(table_.bind_symbols(context.sizes, inputs));
  context.units.resize(program_.unit_lists.size());
  for (size_t u = 0; u < program_.unit_lists.size(); ++u) {
    const std::span<const int32_t> offsets = table_.offsets(u, inputs);
    const auto n = static_cast<size_t>(count_units(offsets, program_.unit_lists[u].block_rows));
    if (context.units[u].capacity() < n) context.units[u].reserve(n * 2);
    context.units[u].resize(n);
    fill_units(offsets, program_.unit_lists[u].block_rows, context.units[u]);
  }
  return {};
}

Status BoundProgram::evaluate_sizes(ExecutionContext& context) const {
  if (context.sizes.valid) return {};
  table_.evaluate(context.sizes);
  const std::vector<int64_t>& values = context.sizes.values;
  // Until all sizes are found to be good, the next call looks at them again.
  context.sizes.valid = false;
  context.integers.resize(integer_count_);
  context.domain.resize(call_count_ * 3);
  for (const BoundPhase& phase : phases_)
    for (const BoundCall& c : phase.calls) {
      for (size_t i = 0; i < c.integers.size(); ++i)
        context.integers[c.first_integer + i] = values[c.integers[i]];
      int64_t* domain = &context.domain[c.index * 3];
      domain[0] = values[c.rows];
      domain[1] = values[c.columns];
      domain[2] = values[c.cost];
      if (domain[0] < 0 || domain[1] < 0)
        return fail(ErrorCode::kInvalidArgument, "program \"{}\": a size overflows at these inputs",
                    program_.name);
    }
  size_t total = 0;
  for (const SizeTable::Index slot : slot_bytes_) {
    const int64_t bytes = values[slot];
    if (bytes < 0 || bytes > (int64_t{1} << 46))
      return fail(ErrorCode::kResourceExhausted, "program \"{}\": a temporary of {} bytes", program_.name,
                  bytes);
    total += static_cast<size_t>(bytes);
  }
  context.arena_bytes = total;
  context.sizes.valid = true;
  return {};
}

Status BoundProgram::place_buffers(ExecutionContext& context, std::span<const TensorView> inputs,
                                   std::span<const TensorView> outputs) const {
  EDGE_INFER_RETURN_IF_ERROR(table_.check_outputs(context.sizes, outputs));
  EDGE_INFER_RETURN_IF_ERROR(context.arena.reserve(context.arena_bytes));
  size_t peak = peak_arena_bytes_.load(std::memory_order_relaxed);
  while (peak < context.arena_bytes && !peak_arena_bytes_.compare_exchange_weak(peak, context.arena_bytes)) {
  }
  context.buffers.resize(program_.buffers.size());
  for (size_t b = 0; b < program_.buffers.size(); ++b) {
    const BufferDecl& decl = program_.buffers[b];
    const auto index = static_cast<size_t>(decl.index);
    void* address = nullptr;
    switch (decl.role) {
      case BufferRole::kInput:
      case BufferRole::kState:
        address = inputs[index].data;
        break;
      case BufferRole::kOutput:
      case BufferRole::kSaved:
        address = outputs[index].data;
        break;
      case BufferRole::kConstant:
        address = const_cast<void*>(constants_[index]);
        break;
      case BufferRole::kIndex:
        address = context.units[index].data();
        break;
      case BufferRole::kTemp:
        if (decl.slot >= 0) {
          size_t offset = 0;
          for (int32_t s = 0; s < decl.slot; ++s)
            offset += static_cast<size_t>(context.sizes.values[slot_bytes_[static_cast<size_t>(s)]]);
          address = context.arena.data() + offset;
        }
        break;
    }
    context.buffers[b] = address;
  }
  context.arguments.resize(argument_count_);
  size_t at = 0;
  for (const Phase& phase : program_.phases)
    for (const Call& call : phase.calls)
      for (const int32_t b : call.buffers)
        context.arguments[at++] = b < 0 ? nullptr : context.buffers[static_cast<size_t>(b)];
  return {};
}

BoundProgram::Tiling BoundProgram::tile(const BoundPhase& phase, const ExecutionContext& context,
                                        int workers) const {
  const BoundCall& first = phase.calls.front();
  const int64_t* domain = &context.domain[first.index * 3];
  Tiling t;
  t.rows = domain[0];
  t.columns = domain[1];
  if (t.rows == 0 || t.columns == 0) return t;
  t.row_block = t.rows;
  t.column_block = t.columns;
  // Several tiles a worker, taken from one counter: cores of a shared machine are not equally fast.
  const int64_t wanted = workers == 1 ? 1 : int64_t{4} * workers;
  if (phase.split == Phase::Split::kRowsColumns) {
    t.row_block = std::min(t.rows, std::max<int64_t>(1, kTileRows / first.row_grain) * first.row_grain);
    const int64_t row_tiles = (t.rows + t.row_block - 1) / t.row_block;
    const int64_t column_tiles = std::max<int64_t>(1, (wanted + row_tiles - 1) / row_tiles);
    if (workers > 1)
      t.column_block = round_up((t.columns + column_tiles - 1) / column_tiles, first.column_grain);
  } else if (phase.split == Phase::Split::kRows) {
    int64_t blocks = wanted;
    // Rows of a grain share what they are multiplied with.
    while (first.row_grain > 1 && blocks > workers && t.rows < blocks * kRowsWorthATile) blocks -= workers;
    t.row_block = equal_blocks(t.rows, blocks, first.row_grain);
  } else if (phase.split == Phase::Split::kColumns) {
    t.column_block = round_up((t.columns + wanted - 1) / wanted, first.column_grain);
  }
  if (phase.row_block > 0 && t.row_block > phase.row_block) {
    const int64_t blocks = (t.row_block + phase.row_block - 1) / phase.row_block;
    t.row_block = equal_blocks(t.row_block, blocks, first.row_grain);
  }
  t.row_tiles = (t.rows + t.row_block - 1) / t.row_block;
  t.column_tiles = (t.columns + t.column_block - 1) / t.column_block;
  return t;
}

void BoundProgram::run_tile(const BoundPhase& phase, const Tiling& t, int64_t tile,
                            const ExecutionContext& context, void* scratch, int64_t* call_nanoseconds) const {
  const int64_t m0 = tile / t.column_tiles * t.row_block, n0 = tile % t.column_tiles * t.column_block;
  const int64_t m1 = std::min(t.rows, m0 + t.row_block), n1 = std::min(t.columns, n0 + t.column_block);
  for (const BoundCall& c : phase.calls) {
    const KernelArgs args{context.arguments.data() + c.first_argument,
                          context.integers.data() + c.first_integer};
    // Only the first call of a phase is split along its columns; those behind it work on whole rows of their
    // own.
    const int64_t columns = t.column_tiles == 1 ? context.domain[c.index * 3 + 1] : n1;
    if (call_nanoseconds == nullptr) {
      c.kernel.function(&args, m0, m1, n0, columns, scratch);
      continue;
    }
    const auto begin = std::chrono::steady_clock::now();
    c.kernel.function(&args, m0, m1, n0, columns, scratch);
    call_nanoseconds[c.index] += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  }
}

void BoundProgram::run_phases(ExecutionContext& context, int workers) const {
  std::byte* scratch = context.scratch.data();
  if (workers == 1) {
    int64_t* times =
        context.call_nanoseconds.size() == call_count_ ? context.call_nanoseconds.data() : nullptr;
    for (const BoundPhase& phase : phases_) {
      if (!runs(phase, context)) continue;
      const Tiling t = tile(phase, context, 1);
      for (int64_t i = 0; i < t.tiles(); ++i) run_tile(phase, t, i, context, scratch, times);
    }
    return;
  }
  // A phase ends when its tiles are finished, not when all workers have arrived: a worker that the system has
  // put aside between two tiles holds nobody up.
  if (context.progress == nullptr) context.progress = std::make_unique<PhaseProgress[]>(phases_.size());
  for (size_t p = 0; p < phases_.size(); ++p) {
    context.progress[p].next.store(0, std::memory_order_relaxed);
    context.progress[p].done.store(0, std::memory_order_relaxed);
  }
  auto body = [&](int worker) {
    void* own = scratch + static_cast<size_t>(worker) * scratch_bytes_;
    for (size_t p = 0; p < phases_.size(); ++p) {
      if (!runs(phases_[p], context)) continue;
      PhaseProgress& progress = context.progress[p];
      const Tiling t = tile(phases_[p], context, workers);
      for (int64_t i = progress.next.fetch_add(1, std::memory_order_relaxed); i < t.tiles();
           i = progress.next.fetch_add(1, std::memory_order_relaxed)) {
        run_tile(phases_[p], t, i, context, own, nullptr);
        if (progress.done.fetch_add(1, std::memory_order_acq_rel) + 1 == t.tiles())
          progress.done.notify_all();
      }
      wait_until(progress.done, t.tiles());
    }
  };
  run_helped(workers, body);
}

Status BoundProgram::run(ExecutionContext& context, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs, int max_workers) const {
  EDGE_INFER_RETURN_IF_ERROR(bind_symbols(context, inputs));
  EDGE_INFER_RETURN_IF_ERROR(evaluate_sizes(context));
  EDGE_INFER_RETURN_IF_ERROR(place_buffers(context, inputs, outputs));
  int64_t cost = 0;
  context.sizes.symbols.back() = std::max(1, max_workers);
  for (const BoundPhase& phase : phases_) {
    if (!runs(phase, context)) continue;
    for (const BoundCall& call : phase.calls) {
      const int64_t* domain = &context.domain[call.index * 3];
      cost += domain[0] * std::max<int64_t>(0, domain[2]);
    }
  }
  const auto useful = std::clamp<int64_t>(cost / kCostPerWorker, 1, 1024);
  const WorkerShare share(static_cast<int>(std::min<int64_t>(useful, std::max(1, max_workers))));
  context.sizes.symbols.back() = share.workers();
  EDGE_INFER_RETURN_IF_ERROR(context.scratch.reserve(scratch_bytes_ * static_cast<size_t>(share.workers())));
  run_phases(context, share.workers());
  return {};
}

}  // namespace edge_infer
