#include "backends/cuda/block_layout.h"

#include "runtime/program/unit_list.h"

namespace edge_infer::cuda {
namespace {

constexpr size_t kAlignment = 256;
// Stores over the bus cost no more than a copy, and a copy of its own costs several microseconds more.
constexpr size_t kMostDirectBytes = size_t{1} << 18;

}  // namespace

BlockLayout BlockLayout::of(const CudaPlan& plan, std::span<const int64_t> sizes) {
  BlockLayout layout;
  size_t at = 0;
  const auto place = [&](size_t bytes) {
    const size_t offset = at;
    at += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  };
  layout.integers = place(plan.integer_count * sizeof(int64_t));
  for (const SizeTable::Index count : plan.unit_counts)
    layout.unit_lists.push_back(place(static_cast<size_t>(sizes[count]) * sizeof(WorkUnit)));
  layout.inputs.resize(plan.input_count);
  layout.outputs.resize(plan.output_count);
  const auto bytes_of = [&](size_t buffer) {
    const BufferDecl& decl = plan.program.buffers[buffer];
    return static_cast<size_t>(sizes[plan.elements[buffer]] * dtype_size(decl.dtype));
  };
  for (size_t b = 0; b < plan.program.buffers.size(); ++b)
    if (plan.program.buffers[b].role == BufferRole::kInput)
      layout.inputs[static_cast<size_t>(plan.program.buffers[b].index)] = place(bytes_of(b));
  layout.block_bytes = at;
  for (size_t b = 0; b < plan.program.buffers.size(); ++b) {
    if (plan.program.buffers[b].role != BufferRole::kOutput) continue;
    const auto index = static_cast<size_t>(plan.program.buffers[b].index);
    // What a second call reads stays on the device.
    const bool direct = plan.output_uses[index] <= 1 && bytes_of(b) <= kMostDirectBytes;
    layout.outputs[index] = {place(bytes_of(b)), direct};
  }
  layout.bytes = at;
  return layout;
}

}  // namespace edge_infer::cuda
