#include "compiler/graph/evaluate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/graph/op_table.h"
#include "compiler/graph/print.h"

namespace edge_infer {
namespace {

// `size` as c*symbol + constant with c != 0: (symbol, c, constant). Found by values, so that it needs no look
// inside.
struct LinearSize {
  std::string symbol;
  int64_t factor, constant;
};
std::optional<LinearSize> as_linear(const SymInt& size) {
  const auto symbols = size.symbols();
  if (symbols.size() != 1) return std::nullopt;
  const auto at_zero = size.substitute({{symbols[0], SymInt(0)}}).constant();
  if (!at_zero) return std::nullopt;
  const SymInt symbol = SymInt::symbol(symbols[0]);
  const auto factor = floordiv(size - SymInt(*at_zero), symbol).constant();
  if (!factor || *factor == 0) return std::nullopt;
  return LinearSize{symbols[0], *factor, *at_zero};
}

Result<std::vector<int64_t>> concrete_sizes(const TensorType& type, const SymbolValues& symbols) {
  std::vector<int64_t> sizes;
  for (const SymInt& size : type.sizes) {
    EDGE_INFER_ASSIGN(const int64_t value, size.evaluate(symbols));
    sizes.push_back(value);
  }
  return sizes;
}

Status check_tensor(const std::string& what, const TensorType& type, const HostTensor& tensor,
                    const SymbolValues& symbols) {
  EDGE_INFER_ASSIGN(const auto sizes, concrete_sizes(type, symbols));
  if (tensor.dtype != type.dtype || tensor.sizes != sizes)
    return fail(ErrorCode::kInvalidArgument, "{} is {}{}, expected {} = {}{}", what, dtype_name(tensor.dtype),
                print_sizes(tensor.sizes), print(type), dtype_name(type.dtype), print_sizes(sizes));
  if (static_cast<int64_t>(tensor.bytes.size()) != tensor.elements() * dtype_size(tensor.dtype))
    return fail(ErrorCode::kInvalidArgument, "{} has {} bytes, expected {} of {}", what, tensor.bytes.size(),
                dtype_name(tensor.dtype), print_sizes(tensor.sizes));
  return {};
}

// Runs nodes in order and frees each value after its last use.
class Evaluation {
 public:
  explicit Evaluation(const Graph& graph, const SymbolValues& symbols)
      : graph_(graph),
        symbols_(symbols),
        values_(static_cast<size_t>(graph.value_count())),
        owned_(static_cast<size_t>(graph.value_count())),
        last_use_(static_cast<size_t>(graph.value_count()), -1) {
    for (size_t n = 0; n < graph.nodes().size(); ++n)
      for (const ValueId id : graph.nodes()[n].inputs)
        if (id != kNoValue) last_use_[static_cast<size_t>(id)] = static_cast<int64_t>(n);
    for (const GraphOutput& output : graph.outputs())
      last_use_[static_cast<size_t>(output.value)] = INT64_MAX;
  }

  void bind(ValueId id, const HostTensor& tensor) { values_[static_cast<size_t>(id)] = &tensor; }

  Status run(size_t index) {
    const Node& node = graph_.nodes()[index];
    std::vector<const HostTensor*> inputs;
    for (const ValueId id : node.inputs)
      inputs.push_back(id == kNoValue ? nullptr : values_[static_cast<size_t>(id)]);
    std::vector<HostTensor> outputs;
    for (const ValueId id : node.outputs) {
      const TensorType& type = graph_.value(id).type;
      EDGE_INFER_ASSIGN(auto sizes, concrete_sizes(type, symbols_));
      EDGE_INFER_ASSIGN(HostTensor tensor, make_host_tensor(type.dtype, std::move(sizes)));
      outputs.push_back(std::move(tensor));
    }
    EDGE_INFER_RETURN_IF_ERROR(node.op->evaluate({node, inputs, outputs, symbols_}));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto id = static_cast<size_t>(node.outputs[i]);
      owned_[id] = std::move(outputs[i]);
      values_[id] = &owned_[id];
    }
    for (const ValueId id : node.inputs) release(id, index);
    for (const ValueId id : node.outputs) release(id, index);
    return {};
  }

  std::vector<HostTensor> results() const {
    std::vector<HostTensor> results;
    for (const GraphOutput& output : graph_.outputs())
      results.push_back(*values_[static_cast<size_t>(output.value)]);
    return results;
  }

 private:
  void release(ValueId id, size_t index) {
    if (id != kNoValue && last_use_[static_cast<size_t>(id)] <= static_cast<int64_t>(index))
      owned_[static_cast<size_t>(id)] = {};
  }

  const Graph& graph_;
  const SymbolValues& symbols_;
  std::vector<const HostTensor*> values_;
  std::vector<HostTensor> owned_;
  std::vector<int64_t> last_use_;
};

}  // namespace

Result<SymbolValues> bind_symbols(const Graph& graph, std::span<const std::vector<int64_t>> input_sizes) {
  if (input_sizes.size() != graph.inputs().size())
    return fail(ErrorCode::kInvalidArgument, "graph {} has {} inputs, {} are given", graph.name(),
                graph.inputs().size(), input_sizes.size());
  SymbolValues values;
  for (size_t i = 0; i < input_sizes.size(); ++i) {
    const Value& input = graph.value(graph.inputs()[i].value);
    if (static_cast<int64_t>(input_sizes[i].size()) != input.type.rank())
      return fail(ErrorCode::kInvalidArgument, "input {} has sizes {}, expected {}", input.name,
                  print_sizes(input_sizes[i]), print(input.type));
    for (size_t d = 0; d < input_sizes[i].size(); ++d) {
      const auto linear = as_linear(input.type.sizes[d]);
      if (!linear || values.contains(linear->symbol)) continue;
      int64_t rest = 0;
      if (__builtin_sub_overflow(input_sizes[i][d], linear->constant, &rest) || rest % linear->factor != 0)
        continue;
      values[linear->symbol] = rest / linear->factor;
    }
  }
  for (const Symbol& symbol : graph.symbols()) {
    const auto found = values.find(symbol.name);
    if (found == values.end())
      return fail(ErrorCode::kInvalidArgument, "symbol {} is not determined by the sizes of the inputs",
                  symbol.name);
    if (found->second < symbol.range.lo || found->second > symbol.range.hi)
      return fail(ErrorCode::kInvalidArgument, "symbol {} is {}, expected {}..{}", symbol.name, found->second,
                  symbol.range.lo, symbol.range.hi);
  }
  for (size_t i = 0; i < input_sizes.size(); ++i) {
    const Value& input = graph.value(graph.inputs()[i].value);
    EDGE_INFER_ASSIGN(const auto expected, concrete_sizes(input.type, values));
    if (expected != input_sizes[i])
      return fail(ErrorCode::kInvalidArgument, "input {} has sizes {}, expected {} = {}", input.name,
                  print_sizes(input_sizes[i]), print(input.type), print_sizes(expected));
  }
  return values;
}

Result<std::vector<HostTensor>> evaluate(const Graph& graph, std::span<const HostTensor> inputs,
                                         const TensorMap& constants) {
  std::vector<std::vector<int64_t>> sizes;
  for (const HostTensor& input : inputs) sizes.push_back(input.sizes);
  EDGE_INFER_ASSIGN(const SymbolValues symbols, bind_symbols(graph, sizes));
  Evaluation evaluation(graph, symbols);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& input = graph.value(graph.inputs()[i].value);
    EDGE_INFER_RETURN_IF_ERROR(check_tensor("input " + input.name, input.type, inputs[i], symbols));
    evaluation.bind(graph.inputs()[i].value, inputs[i]);
  }
  for (const GraphConstant& constant : graph.constants()) {
    const Value& value = graph.value(constant.value);
    const auto found = constants.find(value.name);
    if (found == constants.end())
      return fail(ErrorCode::kNotFound, "constant \"{}\" {} is not given", value.name, print(value.type));
    EDGE_INFER_RETURN_IF_ERROR(check_tensor("constant " + value.name, value.type, found->second, symbols));
    evaluation.bind(constant.value, found->second);
  }
  for (size_t n = 0; n < graph.nodes().size(); ++n)
    if (auto status = evaluation.run(n); !status)
      return fail_with_context(status.error(), print_node(graph, graph.nodes()[n]));
  return evaluation.results();
}

Result<std::vector<HostTensor>> evaluate(const Graph& graph, const TensorMap& tensors) {
  std::vector<HostTensor> inputs;
  for (const GraphInput& input : graph.inputs()) {
    const Value& value = graph.value(input.value);
    const auto found = tensors.find(value.name);
    if (found == tensors.end())
      return fail(ErrorCode::kNotFound, "input \"{}\" {} is not given", value.name, print(value.type));
    inputs.push_back(found->second);
  }
  return evaluate(graph, inputs, tensors);
}

}  // namespace edge_infer
