#include "tests/gpu/nest_case.h"

#include <fmt/format.h>

#include "compiler/loop/evaluate.h"

namespace edge_infer::test {
namespace {

std::vector<HostTensor*> pointers(std::vector<HostTensor>& tensors) {
  std::vector<HostTensor*> result;
  for (HostTensor& tensor : tensors) result.push_back(&tensor);
  return result;
}

Outcome check(const KernelSet& kernels, size_t kernel, const loop::LoopNest& nest, NestOperands operands,
              const Bound& bound) {
  std::vector<HostTensor> wanted = operands.buffers;
  if (const Status status = loop::evaluate(nest, operands.symbols, pointers(wanted)); !status)
    return {.failure = "evaluate: " + status.error().message};
  if (const Status status = kernels.run(kernel, operands.symbols, pointers(operands.buffers)); !status)
    return {.failure = status.error().message};
  double error = 0;
  for (size_t b = 0; b < nest.buffers.size(); ++b) {
    if (nest.buffers[b].access != loop::Access::kOut) continue;
    const std::string text = outside(operands.buffers[b], wanted[b], bound, &error);
    if (!text.empty()) return {.failure = fmt::format("b{}: {}", b, text)};
  }
  return {.note = fmt::format("error {:.1e}", error)};
}

}  // namespace

GpuCase nest_case(KernelSet& kernels, std::string label, const loop::LoopNest& nest, const Schedule& schedule,
                  std::function<NestOperands()> make, const Bound& bound) {
  const Result<size_t> kernel = kernels.add(nest, schedule);
  if (!kernel) {
    const std::string why = "no kernel: " + kernel.error().message;
    return {std::move(label), [why] { return Outcome{.failure = why}; }};
  }
  return {std::move(label), [&kernels, kernel = *kernel, nest, make = std::move(make), bound] {
            return check(kernels, kernel, nest, make(), bound);
          }};
}

}  // namespace edge_infer::test
