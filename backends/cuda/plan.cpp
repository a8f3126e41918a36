#include "backends/cuda/plan.h"

#include <algorithm>

#include "backends/cuda/read_block.h"
#include "backends/cuda/upload_constants.h"

namespace edge_infer::cuda {
namespace {

constexpr size_t kMostConditions = 64;

Status bind_calls(CudaPlan& plan) {
  const Program& p = plan.program;
  std::vector<const CudaKernel*> kernels;
  for (const KernelRef& ref : p.kernels) {
    if (ref.name.starts_with("prebuilt:"))
      return fail(ErrorCode::kUnsupported, "program \"{}\" calls \"{}\", which {} does not have", p.name,
                  ref.name, plan.device->target().name);
    const CudaKernel* kernel = plan.device->find_kernel(ref.name);
    if (kernel == nullptr)
      return fail(ErrorCode::kNotFound, "{} has no code loaded as \"{}\"", plan.device->target().name,
                  ref.name);
    kernels.push_back(kernel);
  }
  std::vector<Symbol> with_workers = p.symbols;
  with_workers.push_back({kWorkersSymbol, {1, 1024}, 1});
  std::vector<SymInt> conditions;
  for (const Phase& phase : p.phases) {
    const auto known = std::ranges::find(conditions, phase.when);
    const auto condition = static_cast<size_t>(known - conditions.begin());
    if (known == conditions.end()) {
      EDGE_INFER_ASSIGN(SymCode code, SymCode::compile(phase.when, with_workers));
      conditions.push_back(phase.when);
      plan.conditions.push_back(std::move(code));
    }
    for (const Call& call : phase.calls) {
      CudaPlan::Call c;
      c.kernel = kernels[static_cast<size_t>(call.kernel)];
      c.first_integer = plan.integer_count;
      c.condition = condition;
      c.buffers = call.buffers;
      c.node = call.node;
      for (const SymInt& e : call.integers) {
        EDGE_INFER_ASSIGN(const SizeTable::Index index, plan.table.add(e));
        c.integers.push_back(index);
      }
      EDGE_INFER_ASSIGN(c.rows, plan.table.add(call.rows));
      EDGE_INFER_ASSIGN(c.columns, plan.table.add(call.columns));
      plan.integer_count += call.integers.size();
      for (const TensorMap& map : c.kernel->launch.maps)
        if (static_cast<size_t>(map.buffer) >= c.buffers.size() ||
            c.buffers[static_cast<size_t>(map.buffer)] < 0)
          return fail(ErrorCode::kInternal, "kernel \"{}\" has a map of operand {}, the call has {}",
                      p.kernels[static_cast<size_t>(call.kernel)].name, map.buffer, c.buffers.size());
      plan.calls.push_back(std::move(c));
    }
  }
  if (plan.conditions.size() > kMostConditions)
    return fail(ErrorCode::kUnsupported, "program \"{}\" has {} conditions, at most {} are supported", p.name,
                plan.conditions.size(), kMostConditions);
  return {};
}

Status bind_buffers(CudaPlan& plan) {
  const Program& p = plan.program;
  for (size_t b = 0; b < p.buffers.size(); ++b) {
    const BufferDecl& decl = p.buffers[b];
    if (decl.role == BufferRole::kState || decl.role == BufferRole::kSaved)
      return fail(ErrorCode::kUnsupported, "program \"{}\": buffer b{} is state or saved, which {} has not",
                  p.name, b, plan.device->target().name);
    if (decl.role == BufferRole::kInput) ++plan.input_count;
    if (decl.role == BufferRole::kOutput) ++plan.output_count;
    SymInt elements = 1;
    for (const SymInt& size : decl.sizes) elements = elements * size;
    EDGE_INFER_ASSIGN(const SizeTable::Index index, plan.table.add(elements));
    plan.elements.push_back(index);
  }
  for (const SymInt& bytes : p.slots) {
    EDGE_INFER_ASSIGN(const SizeTable::Index index, plan.table.add(bytes));
    plan.slot_bytes.push_back(index);
  }
  for (const UnitListDecl& list : p.unit_lists) {
    EDGE_INFER_ASSIGN(const SizeTable::Index index, plan.table.add(SymInt::symbol(list.count)));
    plan.unit_counts.push_back(index);
  }
  plan.output_uses.resize(plan.output_count);
  for (const CudaPlan::Call& call : plan.calls)
    for (const int32_t b : call.buffers) {
      if (b < 0 || p.buffers[static_cast<size_t>(b)].role != BufferRole::kOutput) continue;
      ++plan.output_uses[static_cast<size_t>(p.buffers[static_cast<size_t>(b)].index)];
    }
  return {};
}

}  // namespace

Result<std::unique_ptr<CudaPlan>> CudaPlan::bind(Program program, std::shared_ptr<const CudaDevice> device,
                                                 ConstantSource& constants) {
  EDGE_INFER_RETURN_IF_ERROR(verify_program(program));
  EDGE_INFER_RETURN_IF_ERROR(device->usable());
  auto plan = std::make_unique<CudaPlan>();
  plan->device = std::move(device);
  plan->program = std::move(program);
  EDGE_INFER_ASSIGN(plan->table, SizeTable::compile(plan->program));
  EDGE_INFER_ASSIGN(plan->classes, SizeClasses::of(plan->program));
  EDGE_INFER_RETURN_IF_ERROR(bind_calls(*plan));
  EDGE_INFER_RETURN_IF_ERROR(bind_buffers(*plan));
  EDGE_INFER_ASSIGN(plan->constants,
                    place_constants(plan->device, plan->program.name, plan->program.constants, constants,
                                    ConstantKinds::kAll));
  plan->read_block = read_block_kernel(*plan->device);
  return plan;
}

uint64_t CudaPlan::conditions_at(std::span<const int64_t> symbols_and_workers) const {
  uint64_t mask = 0;
  for (size_t c = 0; c < conditions.size(); ++c)
    if (conditions[c].evaluate(symbols_and_workers) != 0) mask |= uint64_t{1} << c;
  return mask;
}

Result<std::vector<int64_t>> CudaPlan::sizes_at(const SymbolValues& symbols) const {
  CallSizes sizes;
  sizes.symbols.assign(symbols.of.begin(), symbols.of.begin() + static_cast<std::ptrdiff_t>(symbols.count));
  sizes.symbols.push_back(1);
  table.evaluate(sizes);
  for (const int64_t value : sizes.values)
    if (value == SizeTable::kBadSize)
      return fail(ErrorCode::kResourceExhausted, "program \"{}\": a size overflows", program.name);
  return std::move(sizes.values);
}

}  // namespace edge_infer::cuda
