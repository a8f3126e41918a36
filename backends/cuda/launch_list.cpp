#include "backends/cuda/launch_list.h"

#include "backends/cuda/read_block.h"

namespace edge_infer::cuda {

DeviceAddress LaunchList::address_of(size_t buffer) const {
  const BufferDecl& decl = plan_->program.buffers[buffer];
  const auto index = static_cast<size_t>(decl.index);
  switch (decl.role) {
    case BufferRole::kInput:
    case BufferRole::kState:
      return memory_->block.address() + layout_.inputs[index];
    case BufferRole::kOutput:
    case BufferRole::kSaved: {
      const BlockLayout::Output& output = layout_.outputs[index];
      return (output.direct ? memory_->pinned.device_address() : memory_->block.address()) + output.offset;
    }
    case BufferRole::kConstant:
      return plan_->constants.addresses[index];
    case BufferRole::kIndex:
      return memory_->block.address() + layout_.unit_lists[index];
    case BufferRole::kTemp:
      return decl.slot < 0 ? 0
                           : memory_->arena.address() + memory_->slot_offsets[static_cast<size_t>(decl.slot)];
  }
  return 0;
}

Result<EncodedTensorMap> LaunchList::encode(const TensorMap& map, size_t buffer,
                                            std::span<const int64_t> class_sizes) const {
  // All rows that a box may reach into: a temporary's at the capacity, else what the class has room for.
  const bool temporary = plan_->program.buffers[buffer].role == BufferRole::kTemp;
  const SizeTable::Index at = plan_->elements[buffer];
  const int64_t elements = temporary ? memory_->sizes[at] : class_sizes[at];
  const int64_t rows = elements / map.columns;
  return encode_tensor_map(*plan_->device, map, address_of(buffer), rows);
}

void LaunchList::add_read_block() {
  constexpr size_t kChunk = 16;
  KernelLaunch launch;
  const CudaKernel& kernel = *plan_->read_block;
  launch.function = kernel.function;
  launch.chunks = static_cast<uint32_t>(layout_.block_bytes / kChunk);
  launch.threads = static_cast<unsigned>(kernel.launch.threads);
  launch.grid = read_block_grid(launch.chunks, kernel.launch);
  launch.addresses = {memory_->pinned.device_address(), memory_->block.address()};
  launches_.push_back(std::move(launch));
}

Status LaunchList::add_call(const CudaPlan::Call& call, std::span<const int64_t> sizes) {
  const CudaLaunch& facts = call.kernel->launch;
  const CudaDeviceFacts& device = plan_->device->facts();
  KernelLaunch launch;
  launch.function = call.kernel->function;
  launch.grid =
      static_cast<unsigned>(facts.grid(sizes[call.rows], sizes[call.columns], device.multiprocessors));
  launch.threads = static_cast<unsigned>(facts.threads);
  launch.shared_bytes = static_cast<unsigned>(facts.shared_bytes);
  launch.cluster = static_cast<unsigned>(facts.cluster);
  // The first kernel waits for the block as a whole: the others may read it before they wait.
  const size_t in_front = plan_->read_block == nullptr ? 0 : 1;
  launch.programmatic = facts.waits && device.programmatic_launch && launches_.size() > in_front;
  launch.addresses.push_back(memory_->block.address() + layout_.integers +
                             call.first_integer * sizeof(int64_t));
  for (const int32_t b : call.buffers)
    launch.addresses.push_back(b < 0 ? 0 : address_of(static_cast<size_t>(b)));
  for (const TensorMap& map : facts.maps) {
    const auto buffer = static_cast<size_t>(call.buffers[static_cast<size_t>(map.buffer)]);
    EDGE_INFER_ASSIGN(const EncodedTensorMap encoded, encode(map, buffer, sizes));
    launch.maps.push_back(encoded);
  }
  launches_.push_back(std::move(launch));
  return {};
}

Result<LaunchList> LaunchList::make(const CudaPlan& plan, const ExecutionMemory& memory,
                                    const SymbolValues& limits, uint64_t conditions) {
  LaunchList list;
  list.plan_ = &plan;
  list.memory_ = &memory;
  list.limits_ = limits;
  list.conditions_ = conditions;
  EDGE_INFER_ASSIGN(const std::vector<int64_t> sizes, plan.sizes_at(limits));
  list.layout_ = BlockLayout::of(plan, sizes);
  if (list.layout_.bytes > memory.pinned.bytes())
    return fail(ErrorCode::kInternal, "program \"{}\": a block of {} bytes, room for {}", plan.program.name,
                list.layout_.bytes, memory.pinned.bytes());
  if (plan.read_block != nullptr) list.add_read_block();
  for (const CudaPlan::Call& call : plan.calls)
    if ((conditions >> call.condition & 1U) != 0) EDGE_INFER_RETURN_IF_ERROR(list.add_call(call, sizes));
  for (KernelLaunch& launch : list.launches_) launch.point_to_parameters();
  return list;
}

Status LaunchList::launch(StreamHandle stream, std::span<const EventHandle> marks) const {
  const CudaDevice& device = *plan_->device;
  const auto mark = [&](size_t i) -> Status {
    if (marks.empty()) return {};
    return device.check(device.driver().event_record(marks[i], stream), "record an event");
  };
  for (size_t i = 0; i < launches_.size(); ++i) {
    const KernelLaunch& launch = launches_[i];
    EDGE_INFER_RETURN_IF_ERROR(mark(i));
    LaunchAttribute attributes[2] = {};
    unsigned count = 0;
    if (launch.cluster > 1) {
      attributes[count].id = LaunchAttributeId::kClusterDimension;
      attributes[count++].value.cluster = {launch.cluster, 1, 1};
    }
    if (launch.programmatic) {
      attributes[count].id = LaunchAttributeId::kProgrammaticStreamSerialization;
      attributes[count++].value.programmatic_stream_serialization = 1;
    }
    LaunchConfig config;
    config.grid_x = launch.grid;
    config.block_x = launch.threads;
    config.shared_bytes = launch.shared_bytes;
    config.stream = stream;
    config.attributes = attributes;
    config.attribute_count = count;
    EDGE_INFER_RETURN_IF_ERROR(
        device.check(device.driver().launch_kernel(&config, launch.function,
                                                   const_cast<void**>(launch.parameters.data()), nullptr),
                     "launch a kernel"));
  }
  return mark(launches_.size());
}

Result<GraphExec> LaunchList::instantiate(StreamHandle stream) const {
  return build_graph(*plan_->device, launches_, stream);
}

}  // namespace edge_infer::cuda
