#include "backends/cuda/execution_memory.h"

#include "backends/cuda/block_layout.h"

namespace edge_infer::cuda {
namespace {

constexpr size_t kAlignment = 256;
constexpr int64_t kMostBytes = int64_t{1} << 44;

std::string describe(const CudaPlan& plan, const SymbolValues& capacity) {
  std::string text;
  for (size_t i = 0; i < capacity.count; ++i)
    text += fmt::format("{}{} = {}", i == 0 ? "" : ", ", plan.program.symbols[i].name, capacity.of[i]);
  return text;
}

}  // namespace

Result<ExecutionMemory> ExecutionMemory::allocate(const CudaPlan& plan, const SymbolValues& capacity,
                                                  CudaDevice::Scarcity scarcity) {
  ExecutionMemory memory;
  memory.capacity = capacity;
  EDGE_INFER_ASSIGN(memory.sizes, plan.sizes_at(capacity));
  size_t arena_bytes = 0;
  for (const SizeTable::Index slot : plan.slot_bytes) {
    const int64_t bytes = memory.sizes[slot];
    if (bytes < 0 || bytes > kMostBytes)
      return fail(ErrorCode::kResourceExhausted, "program \"{}\": a temporary of {} bytes for {}",
                  plan.program.name, bytes, describe(plan, capacity));
    memory.slot_offsets.push_back(arena_bytes);
    arena_bytes += (static_cast<size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  }
  for (const SizeTable::Index elements : plan.elements)
    if (memory.sizes[elements] < 0 || memory.sizes[elements] > kMostBytes)
      return fail(ErrorCode::kResourceExhausted, "program \"{}\": a tensor of {} elements for {}",
                  plan.program.name, memory.sizes[elements], describe(plan, capacity));
  const BlockLayout layout = BlockLayout::of(plan, memory.sizes);
  const std::string what =
      fmt::format("the temporaries of \"{}\" for {}", plan.program.name, describe(plan, capacity));
  EDGE_INFER_ASSIGN(memory.arena, plan.device->allocate(arena_bytes, what, scarcity));
  EDGE_INFER_ASSIGN(memory.block, plan.device->allocate(layout.bytes, what, scarcity));
  EDGE_INFER_ASSIGN(memory.pinned, plan.device->allocate_pinned(layout.bytes, what));
  return memory;
}

}  // namespace edge_infer::cuda
