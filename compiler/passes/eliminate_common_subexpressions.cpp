#include <unordered_map>

#include "compiler/graph/op_table.h"
#include "compiler/graph/print.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace edge_infer {
namespace {

// Equal exactly for nodes that compute the same. Attributes print exactly, a float with the digits of its
// double.
std::string key_of(const Node& node, std::span<const ValueId> inputs) {
  std::string key = node.op->name;
  for (const ValueId id : inputs) key += ' ' + std::to_string(id);
  for (const auto& [name, value] : node.attributes) key += ' ' + name + '=' + print(value);
  return key;
}

}  // namespace

Result<bool> eliminate_common_subexpressions(Graph& graph, const PassContext&) {
  std::unordered_map<std::string, ValueId> first;  // the first result of the node seen first
  return rewrite(
      graph, [&](GraphBuilder& builder, const Node& node, std::span<const ValueId> inputs) -> Replacement {
        // The node, if it stays, makes the next value.
        const auto next = static_cast<ValueId>(builder.graph().value_count());
        const auto [found, is_new] = first.emplace(key_of(node, inputs), next);
        if (is_new) return std::nullopt;
        const NodeId producer = builder.graph().value(found->second).producer;
        return builder.graph().node(producer).outputs;
      });
}

}  // namespace edge_infer
