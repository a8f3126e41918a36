#include "compiler/passes/rewrite.h"

#include <algorithm>
#include <utility>

#include "compiler/graph/op_table.h"
#include "compiler/graph/print.h"

namespace edge_infer {
namespace {

class Rewriter {
 public:
  Rewriter(const Graph& from, const ReplaceNode& replace)
      : from_(from),
        replace_(replace),
        to_(from.name()),
        map_(static_cast<size_t>(from.value_count()), kNoValue) {}

  Result<bool> run() {
    to_.symbols() = from_.symbols();
    for (const GraphConstant& c : from_.constants())
      map_[static_cast<size_t>(c.value)] =
          to_.add_constant(from_.value(c.value).name, from_.value(c.value).type, c.kind);
    for (const GraphInput& i : from_.inputs())
      map_[static_cast<size_t>(i.value)] =
          to_.add_input(from_.value(i.value).name, from_.value(i.value).type, i.kind);
    bool changed = false;
    for (const Node& node : from_.nodes()) {
      EDGE_INFER_ASSIGN(const bool replaced, visit(node));
      changed = changed || replaced;
    }
    for (const GraphOutput& o : from_.outputs())
      to_.add_output({mapped(o.value), o.kind, o.state == kNoValue ? kNoValue : mapped(o.state)});
    return changed;
  }

  Graph take() { return std::move(to_); }

 private:
  ValueId mapped(ValueId id) const { return id == kNoValue ? kNoValue : map_[static_cast<size_t>(id)]; }

  Result<bool> visit(const Node& node) {
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(mapped(id));
    const auto first_new = static_cast<ValueId>(to_.value_count());
    GraphBuilder builder(to_);
    EDGE_INFER_ASSIGN(const auto values, replace_(builder, node, inputs));
    if (builder.error() != nullptr) return std::unexpected(*builder.error());
    if (!values) {
      copy(node, std::move(inputs));
      return false;
    }
    if (values->size() != node.outputs.size())
      return fail(ErrorCode::kInternal, "{} results stand for the {} of {}", values->size(),
                  node.outputs.size(), print_node(from_, node));
    for (size_t i = 0; i < values->size(); ++i) {
      const Value& old = from_.value(node.outputs[i]);
      const ValueId id = (*values)[i];
      if (!(to_.value(id).type == old.type))
        return fail(ErrorCode::kInternal, "{} becomes {} in {}", print(old.type), print(to_.value(id).type),
                    print_node(from_, node));
      map_[static_cast<size_t>(node.outputs[i])] = id;
    }
    name_new_values(node, *values, first_new);
    return true;
  }

  void copy(const Node& node, std::vector<ValueId> inputs) {
    std::vector<TensorType> types;
    std::vector<std::string> names;
    for (const ValueId id : node.outputs) {
      types.push_back(from_.value(id).type);
      names.push_back(from_.value(id).name);
    }
    const NodeId id =
        to_.add_node(*node.op, std::move(inputs), node.attributes, std::move(types), std::move(names));
    for (size_t i = 0; i < node.outputs.size(); ++i)
      map_[static_cast<size_t>(node.outputs[i])] = to_.node(id).outputs[i];
  }

  void name_new_values(const Node& node, const std::vector<ValueId>& values, ValueId first_new) {
    const std::string& base = from_.value(node.outputs[0]).name;
    int64_t between = 0;
    for (ValueId id = first_new; id < static_cast<ValueId>(to_.value_count()); ++id) {
      const auto found = std::find(values.begin(), values.end(), id);
      to_.rename(id, found != values.end()
                         ? from_.value(node.outputs[static_cast<size_t>(found - values.begin())]).name
                         : base + "." + std::to_string(++between));
    }
  }

  const Graph& from_;
  const ReplaceNode& replace_;
  Graph to_;
  std::vector<ValueId> map_;
};

}  // namespace

Result<bool> rewrite(Graph& graph, const ReplaceNode& replace) {
  Rewriter rewriter(graph, replace);
  EDGE_INFER_ASSIGN(const bool changed, rewriter.run());
  if (changed) graph = rewriter.take();
  return changed;
}

}  // namespace edge_infer
