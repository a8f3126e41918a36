#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/graph/op_table.h"
#include "compiler/graph/print.h"
#include "compiler/loop/evaluate.h"

namespace edge_infer::loop {
namespace {

using TensorRefs = std::vector<HostTensor*>;

Result<std::vector<int64_t>> concrete(const std::vector<SymInt>& sizes, const SymbolValues& symbols) {
  std::vector<int64_t> out;
  for (const SymInt& size : sizes) {
    EDGE_INFER_ASSIGN(const int64_t value, size.evaluate(symbols));
    out.push_back(value);
  }
  return out;
}

class ProgramRun {
 public:
  ProgramRun(const LoopProgram& program, const Graph& graph, std::span<const HostTensor> inputs,
             const TensorMap& constants, const NestRunner& run_nest)
      : program_(program),
        graph_(graph),
        inputs_(inputs),
        constants_(constants),
        run_nest_(run_nest),
        tensors_(program.buffers.size()) {}

  Result<std::vector<HostTensor>> run() {
    std::vector<std::vector<int64_t>> sizes;
    for (const HostTensor& input : inputs_) sizes.push_back(input.sizes);
    EDGE_INFER_ASSIGN(symbols_, bind_symbols(graph_, sizes));
    // Unit lists first: they give the counts that other sizes may name.
    for (const bool units : {true, false})
      for (size_t i = 0; i < tensors_.size(); ++i)
        if ((program_.buffers[i].role == Role::kUnits) == units)
          if (const Status status = fill(i); !status)
            return fail_with_context(status.error(), fmt::format("buffer {}", i));
    for (size_t i = 0; i < program_.steps.size(); ++i)
      if (const Status status = step(program_.steps[i]); !status)
        return fail_with_context(status.error(), fmt::format("step {}", i));
    return outputs();
  }

 private:
  Result<const HostTensor*> input(ValueId value) const {
    for (size_t i = 0; i < graph_.inputs().size(); ++i)
      if (graph_.inputs()[i].value == value) return &inputs_[i];
    return fail(ErrorCode::kInvalidArgument, "{} is no input of the graph", name(value));
  }
  Result<const HostTensor*> constant(ValueId value) const {
    const auto found = constants_.find(name(value));
    if (found == constants_.end())
      return fail(ErrorCode::kNotFound, "constant \"{}\" is not given", name(value));
    return &found->second;
  }
  std::string name(ValueId value) const {
    if (value < 0 || value >= graph_.value_count()) return fmt::format("value {}", value);
    return graph_.value(value).name;
  }

  Status fill(size_t position) {
    const ProgramBuffer& buffer = program_.buffers[position];
    HostTensor& tensor = tensors_[position];
    if (buffer.role == Role::kUnits) return fill_units(buffer, tensor);
    EDGE_INFER_ASSIGN(auto sizes, concrete(buffer.sizes, symbols_));
    EDGE_INFER_ASSIGN(tensor, make_host_tensor(buffer.dtype, std::move(sizes)));
    if (buffer.role == Role::kInput) {
      EDGE_INFER_ASSIGN(const HostTensor* source, input(buffer.value));
      return copy({source}, tensor);
    }
    if (buffer.role != Role::kConstant) return {};
    std::vector<const HostTensor*> sources;
    const auto ids = buffer.sources.empty() ? std::vector{buffer.value} : buffer.sources;
    for (const ValueId id : ids) {
      EDGE_INFER_ASSIGN(const HostTensor* source, constant(id));
      sources.push_back(source);
    }
    if (!buffer.packed || sources.front()->dtype == tensor.dtype) return copy(sources, tensor);
    // Packed in a narrower type than it is given in.
    std::vector<double> numbers;
    for (const HostTensor* source : sources) {
      const std::vector<double> part = source->to_doubles();
      numbers.insert(numbers.end(), part.begin(), part.end());
    }
    if (static_cast<int64_t>(numbers.size()) != tensor.elements())
      return fail(ErrorCode::kInvalidArgument, "the sources have {} elements, expected {}", numbers.size(),
                  tensor.elements());
    tensor.store(numbers);
    return {};
  }

  // The sources one after another: along the first dimension.
  static Status copy(const std::vector<const HostTensor*>& sources, HostTensor& into) {
    size_t at = 0;
    for (const HostTensor* source : sources) {
      if (source->dtype != into.dtype || source->bytes.size() > into.bytes.size() - at)
        return fail(ErrorCode::kInvalidArgument, "found {}{}, expected {}{}", dtype_name(source->dtype),
                    print_sizes(source->sizes), dtype_name(into.dtype), print_sizes(into.sizes));
      std::copy(source->bytes.begin(), source->bytes.end(),
                into.bytes.begin() + static_cast<std::ptrdiff_t>(at));
      at += source->bytes.size();
    }
    if (at != into.bytes.size())
      return fail(ErrorCode::kInvalidArgument, "the sources have {} bytes, expected {} of {}{}", at,
                  into.bytes.size(), dtype_name(into.dtype), print_sizes(into.sizes));
    return {};
  }

  Status fill_units(const ProgramBuffer& buffer, HostTensor& tensor) {
    EDGE_INFER_ASSIGN(const HostTensor* cu, input(buffer.value));
    const std::vector<int64_t> offsets = cu->to_integers();
    if (buffer.block_rows < 1)
      return fail(ErrorCode::kInvalidArgument, "units of {} rows, expected at least 1", buffer.block_rows);
    std::vector<int64_t> units;
    for (size_t s = 0; s + 1 < offsets.size(); ++s)
      for (int64_t row = 0; row < offsets[s + 1] - offsets[s]; row += buffer.block_rows) {
        units.push_back(static_cast<int64_t>(s));
        units.push_back(row);
        if (units.size() > size_t{1} << 24)
          return fail(ErrorCode::kResourceExhausted, "more than {} work units", size_t{1} << 23);
      }
    const auto count = static_cast<int64_t>(units.size() / 2);
    const auto [known, added] = symbols_.emplace(buffer.count, count);
    if (!added && known->second != count)
      return fail(ErrorCode::kInvalidArgument, "symbol {} is {}, but there are {} units", buffer.count,
                  known->second, count);
    EDGE_INFER_ASSIGN(tensor, make_host_tensor(buffer.dtype, {count, 2}));
    tensor.store(units);
    return {};
  }

  Status step(const Step& step) {
    for (const int32_t id : step.buffers)
      if (id >= static_cast<int32_t>(tensors_.size()) || id < -1)
        return fail(ErrorCode::kInvalidArgument, "there is no buffer {}", id);
    if (step.nest < 0) return prebuilt(step);
    if (static_cast<size_t>(step.nest) >= program_.nests.size())
      return fail(ErrorCode::kInvalidArgument, "there is no nest {}", step.nest);
    TensorRefs arguments;
    for (const int32_t id : step.buffers) {
      if (id < 0) return fail(ErrorCode::kInvalidArgument, "an absent buffer of a nest");
      arguments.push_back(&tensors_[static_cast<size_t>(id)]);
    }
    EDGE_INFER_ASSIGN(const std::vector<int64_t> symbols, concrete(step.symbols, symbols_));
    return run_nest_(program_.nests[static_cast<size_t>(step.nest)], symbols, arguments);
  }

  Status prebuilt(const Step& step) {
    if (step.nodes.empty()) return fail(ErrorCode::kInvalidArgument, "a prebuilt step without a node");
    const Node& node = graph_.node(step.nodes.front());
    if (step.buffers.size() != node.inputs.size() + node.outputs.size())
      return fail(ErrorCode::kInvalidArgument, "{} has {} buffers, expected {}", print_node(graph_, node),
                  step.buffers.size(), node.inputs.size() + node.outputs.size());
    // With the sizes of the graph's values: a buffer may hold them as another shape of as many elements.
    std::vector<HostTensor> shaped(node.inputs.size());
    std::vector<const HostTensor*> operands(node.inputs.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (step.buffers[i] < 0 || node.inputs[i] == kNoValue) continue;
      const TensorType& type = graph_.value(node.inputs[i]).type;
      EDGE_INFER_ASSIGN(auto sizes, concrete(type.sizes, symbols_));
      EDGE_INFER_ASSIGN(shaped[i], make_host_tensor(type.dtype, std::move(sizes)));
      EDGE_INFER_RETURN_IF_ERROR(copy({&tensors_[static_cast<size_t>(step.buffers[i])]}, shaped[i]));
      operands[i] = &shaped[i];
    }
    std::vector<HostTensor> results;
    for (const ValueId id : node.outputs) {
      EDGE_INFER_ASSIGN(auto sizes, concrete(graph_.value(id).type.sizes, symbols_));
      EDGE_INFER_ASSIGN(HostTensor result, make_host_tensor(graph_.value(id).type.dtype, std::move(sizes)));
      results.push_back(std::move(result));
    }
    if (const Status status = node.op->evaluate({node, operands, results, symbols_}); !status)
      return fail_with_context(status.error(), print_node(graph_, node));
    for (size_t i = 0; i < results.size(); ++i)
      if (const int32_t id = step.buffers[node.inputs.size() + i]; id >= 0)
        EDGE_INFER_RETURN_IF_ERROR(copy({&results[i]}, tensors_[static_cast<size_t>(id)]));
    return {};
  }

  Result<std::vector<HostTensor>> outputs() const {
    std::vector<HostTensor> results;
    for (const GraphOutput& output : graph_.outputs()) {
      const auto holds = [&](const ProgramBuffer& buffer) {
        if (buffer.role == Role::kUnits) return false;
        return buffer.value == output.value ||
               (buffer.sources.size() == 1 && buffer.sources[0] == output.value);
      };
      const auto is_output = [&](const ProgramBuffer& buffer) {
        return holds(buffer) && buffer.role == Role::kOutput;
      };
      auto found = std::find_if(program_.buffers.begin(), program_.buffers.end(), is_output);
      if (found == program_.buffers.end())
        found = std::find_if(program_.buffers.begin(), program_.buffers.end(), holds);
      if (found == program_.buffers.end())
        return fail(ErrorCode::kInvalidArgument, "output {} is in no buffer", name(output.value));
      const TensorType& type = graph_.value(output.value).type;
      EDGE_INFER_ASSIGN(auto sizes, concrete(type.sizes, symbols_));
      EDGE_INFER_ASSIGN(HostTensor result, make_host_tensor(type.dtype, std::move(sizes)));
      EDGE_INFER_RETURN_IF_ERROR(
          copy({&tensors_[static_cast<size_t>(found - program_.buffers.begin())]}, result));
      results.push_back(std::move(result));
    }
    return results;
  }

  const LoopProgram& program_;
  const Graph& graph_;
  std::span<const HostTensor> inputs_;
  const TensorMap& constants_;
  const NestRunner& run_nest_;
  SymbolValues symbols_;
  std::vector<HostTensor> tensors_;
};

}  // namespace

Result<std::vector<HostTensor>> evaluate(const LoopProgram& program, const Graph& graph,
                                         std::span<const HostTensor> inputs, const TensorMap& constants,
                                         const NestRunner& run_nest) {
  auto results = ProgramRun(program, graph, inputs, constants, run_nest).run();
  if (!results) return fail_with_context(results.error(), "program " + program.name);
  return results;
}

Result<std::vector<HostTensor>> evaluate(const LoopProgram& program, const Graph& graph,
                                         std::span<const HostTensor> inputs, const TensorMap& constants) {
  return evaluate(program, graph, inputs, constants,
                  [](const LoopNest& nest, std::span<const int64_t> symbols,
                     std::span<HostTensor* const> buffers) { return evaluate(nest, symbols, buffers); });
}

}  // namespace edge_infer::loop
