#include "tests/unit/compiled/fusion_count.h"

#include <algorithm>
#include <set>
#include <vector>

#include "compiler/graph/op_table.h"

namespace edge_infer::test {
namespace {

bool is_view(const Node& node) {
  return node.op->kind == OpKind::kView;
}

// The views that a value is made by, last first, and behind them the node that computes it (kNoNode for
// inputs and constants).
std::vector<NodeId> chain(const Graph& graph, ValueId v) {
  std::vector<NodeId> nodes = {graph.value(v).producer};
  while (nodes.back() != kNoNode && is_view(graph.node(nodes.back())))
    nodes.push_back(graph.value(graph.node(nodes.back()).inputs.front()).producer);
  return nodes;
}

// A concatenation of constants is packed as one; no kernel computes it.
bool joins_constants(const Graph& graph, const Node& node) {
  return node.op->name == "aten.cat" &&
         std::ranges::all_of(node.inputs, [&](ValueId v) { return graph.is_constant(v); });
}

bool only_copies(const CompiledGraph& compiled, const loop::LoopProgram& form, const loop::Step& step) {
  if (step.nest < 0) return false;
  const loop::LoopNest& nest = form.nests[static_cast<size_t>(step.nest)];
  for (size_t b = 0; b < nest.buffers.size(); ++b) {
    if (nest.buffers[b].access != loop::Access::kOut) continue;
    const loop::ProgramBuffer& written = form.buffers[static_cast<size_t>(step.buffers[b])];
    if (written.role != loop::Role::kOutput || chain(compiled.graph, written.value).back() != kNoNode)
      return false;
  }
  return true;
}

// Whether the step, which names the node, only copies what another one computed.
bool reads_result(const loop::LoopProgram& form, const loop::Step& step, const Node& node) {
  if (step.nest < 0) return false;
  const loop::LoopNest& nest = form.nests[static_cast<size_t>(step.nest)];
  for (size_t b = 0; b < nest.buffers.size(); ++b) {
    const ValueId value = form.buffers[static_cast<size_t>(step.buffers[b])].value;
    if (nest.buffers[b].access == loop::Access::kIn &&
        std::ranges::find(node.outputs, value) != node.outputs.end())
      return true;
  }
  return false;
}

std::string edge_without_reason(const CompiledGraph& compiled, const loop::LoopProgram& form) {
  const Graph& graph = compiled.graph;
  std::set<std::pair<NodeId, NodeId>> reasons;
  for (const loop::Unfused& edge : form.unfused)
    if (!edge.reason.empty()) reasons.emplace(edge.producer, edge.consumer);
  for (const loop::Step& step : form.steps)
    for (const NodeId reader : step.nodes) {
      if (is_view(graph.node(reader)) || reads_result(form, step, graph.node(reader))) continue;
      for (const ValueId v : graph.node(reader).inputs) {
        if (v == kNoValue) continue;
        // A view that is copied for its reader has the reason in the producer's stead.
        const std::vector<NodeId> producers = chain(graph, v);
        const NodeId producer = producers.back();
        if (producer == kNoNode || joins_constants(graph, graph.node(producer)) ||
            std::ranges::find(step.nodes, producer) != step.nodes.end() ||
            std::ranges::any_of(producers, [&](NodeId p) { return reasons.contains({p, reader}); }))
          continue;
        return fmt::format("%{} -> %{}", graph.value(graph.node(producer).outputs.front()).name,
                           graph.value(graph.node(reader).outputs.front()).name);
      }
    }
  return {};
}

}  // namespace

FusionCount& FusionCount::operator+=(const FusionCount& other) {
  nodes += other.nodes;
  kernels += other.kernels;
  copies += other.copies;
  prebuilt += other.prebuilt;
  return *this;
}

FusionCount count_fusion(const CompiledGraph& compiled) {
  FusionCount count;
  for (const Node& node : compiled.graph.nodes()) count.nodes += !is_view(node);
  const loop::LoopProgram& form = compiled.forms.front();
  for (const loop::Step& step : form.steps) {
    if (only_copies(compiled, form, step)) {
      ++count.copies;
      continue;
    }
    ++count.kernels;
    count.prebuilt += step.nest < 0;
  }
  count.without_reason = edge_without_reason(compiled, form);
  return count;
}

}  // namespace edge_infer::test
