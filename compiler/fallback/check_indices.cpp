#include "compiler/fallback/check_indices.h"

#include <algorithm>
#include <optional>

#include "compiler/graph/op_table.h"
#include "compiler/passes/passes.h"

namespace edge_infer {
namespace {

// An operand that kernels read through unchecked, and the bound of its values.
struct IndexUse {
  ValueId index;
  std::optional<SymInt> size;  // of the dimension read; none: sequence offsets
  SymInt rows = 0;             // of the packed tensor, for offsets
};
std::vector<IndexUse> index_uses(const Graph& graph) {
  std::vector<IndexUse> uses;
  for (const Node& node : graph.nodes()) {
    const std::string& op = node.op->name;
    const auto type = [&](size_t i) { return graph.value(node.inputs[i]).type; };
    if (op == "aten.embedding") uses.push_back({node.inputs[1], type(0).sizes[0]});
    if (op == "aten.index_select" || op == "aten.gather") {
      const int64_t dim = attribute_as<int64_t>(node, "dim"), rank = type(0).rank();
      uses.push_back({node.inputs[1], type(0).sizes[static_cast<size_t>(dim < 0 ? dim + rank : dim)]});
    }
    if (op == "edge.packed_positions" || op == "edge.segment_pool")
      uses.push_back({node.inputs[1], std::nullopt, type(0).sizes[0]});
    if (op == "edge.varlen_attention") uses.push_back({node.inputs[3], std::nullopt, type(0).sizes[0]});
  }
  return uses;
}

}  // namespace

Status check_indices(const Graph& graph, const TensorMap& tensors, const SymbolValues& symbols) {
  const std::vector<IndexUse> uses = index_uses(graph);
  Graph indices = graph;
  indices.outputs().clear();
  for (const IndexUse& use : uses) indices.add_output({use.index});
  EDGE_INFER_RETURN_IF_ERROR(eliminate_dead_nodes(indices, {}));
  EDGE_INFER_ASSIGN(const auto values, evaluate(indices, tensors));
  for (size_t i = 0; i < uses.size(); ++i) {
    const std::vector<int64_t> items = values[i].to_integers();
    const std::string& name = graph.value(uses[i].index).name;
    if (uses[i].size) {
      EDGE_INFER_ASSIGN(const int64_t size, uses[i].size->evaluate(symbols));
      for (const int64_t item : items)
        if (item < 0 || item >= size)
          return fail(ErrorCode::kInvalidArgument, "%{}: index {} of a dimension of size {}", name, item,
                      size);
    } else {
      EDGE_INFER_ASSIGN(const int64_t rows, uses[i].rows.evaluate(symbols));
      if (items.empty() || items.front() != 0 || items.back() != rows ||
          !std::is_sorted(items.begin(), items.end()))
        return fail(ErrorCode::kInvalidArgument, "%{}: offsets do not ascend from 0 to {}", name, rows);
    }
  }
  return {};
}

}  // namespace edge_infer
