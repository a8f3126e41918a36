#include "tests/gpu/graph_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/loop/evaluate.h"
#include "compiler/loop/lower.h"
#include "tests/gpu/bound.h"

namespace edge_infer::test {
namespace {

// Attention rounds its weights to the type of its operands.
Bound bound_for(const loop::LoopNest& nest, DType out) {
  const auto* rows = std::get_if<loop::For>(&nest.body.front().node);
  for (const loop::Stmt& stmt : rows->body)
    if (const auto* attention = std::get_if<loop::Attention>(&stmt.node))
      return attention_bound(nest.buffers[static_cast<size_t>(attention->q.buffer)].dtype, out);
  return bound_of(out);
}

}  // namespace

Result<GraphRun> GraphRun::make(KernelSet& kernels, const Graph& graph, DType precision) {
  GraphRun result;
  result.kernels_ = &kernels;
  result.graph_ = graph;
  const DType half = precision == DType::kF16 ? DType::kF16 : DType::kBF16;
  PipelineOptions passes;
  passes.passes = compile_pipeline(precision);
  passes.context.precision = half;
  if (const auto report = run_passes(result.graph_, passes); !report) return std::unexpected(report.error());
  const Target& target = kernels.device().target();
  loop::LowerOptions options;
  options.attention_block_rows = target.attention_block_rows;
  options.half = half;
  options.half_class = kernels.generator().accumulation_class(half);
  options.narrow_temps = target.narrow_temps && precision != DType::kF32;
  options.accepts = [&](const loop::LoopNest& nest) { return kernels.generator().accepts(nest); };
  EDGE_INFER_ASSIGN(result.program_, loop::lower(result.graph_, options));
  for (const loop::LoopNest& nest : result.program_.nests) {
    const Result<size_t> number = kernels.add(nest);
    if (!number) return fail_with_context(number.error(), "nest @" + nest.name);
    result.numbers_.push_back(*number);
  }
  return result;
}

Result<std::vector<HostTensor>> GraphRun::run(std::span<const HostTensor> inputs, const TensorMap& constants,
                                              bool compared, double* error) const {
  std::set<const HostTensor*> written;  // so far; the first store finds poison
  const auto run_nest = [&](const loop::LoopNest& nest, std::span<const int64_t> symbols,
                            std::span<HostTensor* const> buffers) -> Status {
    const auto number = static_cast<size_t>(&nest - program_.nests.data());
    for (size_t b = 0; b < buffers.size(); ++b)
      if (nest.buffers[b].access == loop::Access::kOut && written.insert(buffers[b]).second)
        std::ranges::fill(buffers[b]->bytes, std::byte{0xFF});
    std::vector<HostTensor> wanted;
    if (compared) {
      std::vector<HostTensor*> pointers;
      for (const HostTensor* buffer : buffers) wanted.push_back(*buffer);
      for (HostTensor& tensor : wanted) pointers.push_back(&tensor);
      EDGE_INFER_RETURN_IF_ERROR(loop::evaluate(nest, symbols, pointers));
    }
    if (const Status status = kernels_->run(numbers_[number], symbols, buffers); !status)
      return fail_with_context(status.error(), "nest @" + nest.name);
    for (size_t b = 0; b < wanted.size(); ++b) {
      if (nest.buffers[b].access != loop::Access::kOut) continue;
      const std::string text = outside(*buffers[b], wanted[b], bound_for(nest, wanted[b].dtype), error);
      if (!text.empty()) return fail(ErrorCode::kInternal, "nest @{}: b{}: {}", nest.name, b, text);
    }
    return {};
  };
  return loop::evaluate(program_, graph_, inputs, constants, run_nest);
}

Result<std::vector<HostTensor>> GraphRun::run(std::span<const HostTensor> inputs,
                                              const TensorMap& constants) const {
  return run(inputs, constants, false, nullptr);
}

Result<std::vector<HostTensor>> GraphRun::run_compared(std::span<const HostTensor> inputs,
                                                       const TensorMap& constants, double* error) const {
  return run(inputs, constants, true, error);
}

}  // namespace edge_infer::test
