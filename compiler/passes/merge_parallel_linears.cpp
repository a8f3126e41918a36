#include <map>
#include <optional>
#include <tuple>

#include "compiler/graph/op_table.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace edge_infer {
namespace {

// What linears must share to become one: operand, whether they have a bias, size of a row, types.
using Key = std::tuple<ValueId, bool, int64_t, DType>;

std::optional<Key> key_of(const Graph& graph, const Node& node) {
  if (node.op->name != "aten.linear" || !graph.is_constant(node.inputs[1])) return std::nullopt;
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
  if (has_bias && !graph.is_constant(node.inputs[2])) return std::nullopt;
  const TensorType& weight = graph.value(node.inputs[1]).type;
  const auto rows = weight.sizes[0].constant(), columns = weight.sizes[1].constant();
  if (!rows || !columns || *rows < 1 || graph.value(node.inputs[0]).type.dtype != weight.dtype)
    return std::nullopt;
  if (has_bias && graph.value(node.inputs[2]).type.dtype != weight.dtype) return std::nullopt;
  return Key{node.inputs[0], has_bias, *columns, weight.dtype};
}

struct Family {
  std::vector<const Node*> nodes;
  ValueId merged = kNoValue;  // in the new graph
  SymInt next = 0;            // first column of the next node
};

}  // namespace

Result<bool> merge_parallel_linears(Graph& graph, const PassContext&) {
  std::map<Key, Family> families;
  std::map<ValueId, Family*> family_of;
  for (const Node& node : graph.nodes())
    if (const auto key = key_of(graph, node)) families[*key].nodes.push_back(&node);
  for (auto& [key, family] : families)
    if (family.nodes.size() > 1)
      for (const Node* node : family.nodes) family_of[node->outputs[0]] = &family;
  if (family_of.empty()) return false;

  const auto constant = [&](GraphBuilder& b, ValueId old) {
    return *b.graph().find_constant(graph.value(old).name);
  };
  const auto joined = [&](GraphBuilder& b, const Family& family, size_t operand) {
    std::vector<ValueId> parts;
    for (const Node* node : family.nodes) parts.push_back(constant(b, node->inputs[operand]));
    return b.op("aten.cat", std::move(parts), {{"dim", int64_t{0}}});
  };
  return rewrite(
      graph, [&](GraphBuilder& b, const Node& node, std::span<const ValueId> inputs) -> Replacement {
        const auto found = family_of.find(node.outputs[0]);
        if (found == family_of.end()) return std::nullopt;
        Family& family = *found->second;
        if (family.merged == kNoValue) {
          const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
          const ValueId weight = joined(b, family, 1);
          const ValueId bias = has_bias ? joined(b, family, 2) : kNoValue;
          family.merged = b.op("aten.linear", {inputs[0], weight, bias});
        }
        const SymInt end = family.next + graph.value(node.inputs[1]).type.sizes[0];
        const int64_t dim = graph.value(node.outputs[0]).type.rank() - 1;
        const ValueId part =
            b.op("aten.slice", {family.merged}, {{"dim", dim}, {"start", family.next}, {"end", end}});
        family.next = end;
        return std::vector{part};
      });
}

}  // namespace edge_infer
