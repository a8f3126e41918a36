#include "compiler/graph/op_table.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace edge_infer {
namespace {

// nullopt where the op is primitive or its decomposition does not apply.
Replacement replace_by_decomposition(GraphBuilder& builder, const Node& node,
                                     std::span<const ValueId> inputs) {
  if (node.op->decompose == nullptr) return std::nullopt;
  auto values = node.op->decompose(builder, node, inputs);
  if (values) return *std::move(values);
  if (values.error().code == ErrorCode::kUnsupported) return std::nullopt;
  return std::unexpected(values.error());
}

}  // namespace

Result<bool> decompose(Graph& graph, const PassContext& context) {
  // Decompositions get strictly simpler, silu by way of sigmoid; the bound only guards the table against a
  // cycle.
  constexpr int kMaxRounds = 16;
  bool changed = false;
  for (int round = 0; round < kMaxRounds; ++round) {
    EDGE_INFER_ASSIGN(const bool again, rewrite(graph, replace_by_decomposition));
    if (!again) {
      // A decomposition that gave up half-way leaves what it had written.
      if (changed) EDGE_INFER_RETURN_IF_ERROR(eliminate_dead_nodes(graph, context));
      return changed;
    }
    changed = true;
  }
  return fail(ErrorCode::kInternal, "decompositions do not end after {} rounds", kMaxRounds);
}

}  // namespace edge_infer
