#include "compiler/loop/find_half_gemms.h"

#include <algorithm>
#include <vector>

#include "compiler/graph/op_table.h"

namespace edge_infer::loop {
namespace {

class Finder {
 public:
  Finder(const Graph& graph, const std::set<NodeId>& whole, DType half)
      : graph_(graph), whole_(whole), half_(half) {
    users_.resize(static_cast<size_t>(graph.value_count()));
    is_output_.resize(users_.size());
    for (NodeId id = 0; id < node_count(); ++id)
      for (const ValueId v : graph.node(id).inputs)
        if (v != kNoValue) users_[static_cast<size_t>(v)].push_back(id);
    for (const GraphOutput& output : graph.outputs()) is_output_[static_cast<size_t>(output.value)] = true;
  }

  HalfGemms run(bool narrow_temps) const {
    HalfGemms found;
    for (NodeId id = 0; id < node_count(); ++id)
      if (is_rounded_weight(id)) found.rounded_weights.insert(id);
    for (NodeId id = 0; id < node_count(); ++id) {
      if (!could_be_gemm(id)) continue;
      const ValueId weight = graph_.node(id).inputs[1];
      if (!graph_.is_constant(weight) && found.rounded_weights.count(graph_.value(weight).producer) == 0)
        continue;
      found.gemms.insert(id);
      if (is_widened(graph_.node(id).outputs[0])) found.wide_sums.insert(id);
    }
    for (NodeId id = 0; narrow_temps && id < node_count(); ++id)
      if (is_stored_operand(id, found.gemms)) found.stored_operands.insert(id);
    return found;
  }

 private:
  NodeId node_count() const { return static_cast<NodeId>(graph_.nodes().size()); }
  const TensorType& type(ValueId v) const { return graph_.value(v).type; }
  const std::vector<NodeId>& users(ValueId v) const { return users_[static_cast<size_t>(v)]; }

  bool could_be_gemm(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.op->name != "aten.linear" || whole_.count(id) > 0) return false;
    const TensorType& w = type(node.inputs[1]);
    return type(node.inputs[0]).dtype == half_ && w.dtype == half_ && w.sizes[0].constant().value_or(0) > 0 &&
           w.sizes[1].constant().value_or(0) > 0;
  }
  bool reads_as_weight_alone(const Node& node, ValueId v) const {
    return node.inputs[1] == v && node.inputs[0] != v && (node.inputs.size() < 3 || node.inputs[2] != v);
  }
  bool is_constant_or_joined(ValueId v) const {
    if (graph_.is_constant(v)) return true;
    const NodeId producer = graph_.value(v).producer;
    if (producer == kNoNode || graph_.node(producer).op->name != "aten.cat") return false;
    const Node& cat = graph_.node(producer);
    return attribute_as<int64_t>(cat, "dim") == 0 && whole_.count(producer) == 0 &&
           std::all_of(cat.inputs.begin(), cat.inputs.end(), [&](ValueId part) {
             return graph_.is_constant(part) && type(part).dtype == DType::kF32;
           });
  }
  bool is_rounded_weight(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.op->name != "aten._to_copy" || whole_.count(id) > 0) return false;
    const ValueId v = node.outputs[0];
    return type(v).dtype == half_ && type(node.inputs[0]).dtype == DType::kF32 &&
           is_constant_or_joined(node.inputs[0]) && !is_output_[static_cast<size_t>(v)] &&
           std::all_of(users(v).begin(), users(v).end(), [&](NodeId user) {
             return could_be_gemm(user) && reads_as_weight_alone(graph_.node(user), v);
           });
  }
  bool is_stored_operand(NodeId id, const std::set<NodeId>& gemms) const {
    const Node& node = graph_.node(id);
    if (node.op->name != "aten._to_copy" || whole_.count(id) > 0) return false;
    const ValueId v = node.outputs[0], x = node.inputs[0];
    return type(v).dtype == half_ && type(x).dtype == DType::kF32 && graph_.value(x).producer != kNoNode &&
           !users(x).empty() && !is_output_[static_cast<size_t>(v)] && !is_output_[static_cast<size_t>(x)] &&
           std::all_of(users(v).begin(), users(v).end(), [&](NodeId user) {
             const Node& linear = graph_.node(user);
             return gemms.count(user) > 0 && linear.inputs[0] == v && linear.inputs[1] != v &&
                    (linear.inputs.size() < 3 || linear.inputs[2] != v);
           });
  }
  bool is_widened(ValueId v) const {
    return !users(v).empty() && !is_output_[static_cast<size_t>(v)] &&
           std::all_of(users(v).begin(), users(v).end(), [&](NodeId user) {
             const Node& node = graph_.node(user);
             return node.op->name == "aten._to_copy" && whole_.count(user) == 0 &&
                    type(node.outputs[0]).dtype == DType::kF32;
           });
  }

  const Graph& graph_;
  const std::set<NodeId>& whole_;
  DType half_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> is_output_;
};

}  // namespace

HalfGemms find_half_gemms(const Graph& graph, const std::set<NodeId>& whole, DType half, bool narrow_temps) {
  return Finder(graph, whole, half).run(narrow_temps);
}

}  // namespace edge_infer::loop
