// evaluate(): the slow, obvious meaning of a graph, the oracle that every fast path is compared with.
// Floating ops are computed in double, integer ops in int64, and each op's results are rounded once to their
// type. Pinned by vectors that PyTorch computed (tests/data/op_vectors.npz).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/host_tensor.h"

namespace edge_infer {

using TensorMap = std::map<std::string, HostTensor, std::less<>>;
using SymbolValues = std::map<std::string, int64_t, std::less<>>;

// What an evaluator sees: inputs (nullptr where `none`) and zero-filled outputs of the right type and sizes.
struct EvaluateContext {
  const Node& node;
  std::span<const HostTensor* const> inputs;
  std::span<HostTensor> outputs;
  const SymbolValues& symbols;

  const HostTensor& in(size_t i) const { return *inputs[i]; }
  bool has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  HostTensor& out(size_t i = 0) const { return outputs[i]; }
};

// The symbols' values from the sizes of the graph's inputs (in order). Each is solved from a size c*symbol +
// constant; then every size and range is checked. Errors: kInvalidArgument naming input, sizes found and
// expected.
Result<SymbolValues> bind_symbols(const Graph& graph, std::span<const std::vector<int64_t>> input_sizes);

// The outputs in order. `inputs` are in the graph's order, `constants` are bound by name. Errors: missing or
// mistyped tensors, an index out of range, what does not fit memory; the node is named.
Result<std::vector<HostTensor>> evaluate(const Graph& graph, std::span<const HostTensor> inputs,
                                         const TensorMap& constants);
// The same with inputs bound by name.
Result<std::vector<HostTensor>> evaluate(const Graph& graph, const TensorMap& tensors);

}  // namespace edge_infer
