#include "compiler/graph/graph.h"

#include <algorithm>
#include <utility>

#include "compiler/graph/op_table.h"

namespace edge_infer {

SymInt TensorType::elements() const {
  SymInt product = 1;
  for (const SymInt& size : sizes) product = product * size;
  return product;
}

std::string Graph::unique_name(std::string name, ValueId id) const {
  if (name.empty()) name = "v" + std::to_string(id);
  if (!value_names_.contains(name)) return name;
  for (int64_t i = 1;; ++i) {
    std::string candidate = name + "_" + std::to_string(i);
    if (!value_names_.contains(candidate)) return candidate;
  }
}

ValueId Graph::add_value(std::string name, TensorType type, NodeId producer) {
  const auto id = static_cast<ValueId>(values_.size());
  name = unique_name(std::move(name), id);
  value_names_.emplace(name, id);
  values_.push_back({std::move(name), std::move(type), producer});
  return id;
}

ValueId Graph::add_input(std::string name, TensorType type, InputKind kind) {
  const ValueId id = add_value(std::move(name), std::move(type), kNoNode);
  inputs_.push_back({id, kind});
  return id;
}

ValueId Graph::add_constant(std::string name, TensorType type, ConstantKind kind) {
  const auto id = static_cast<ValueId>(values_.size());
  constant_names_.emplace(name, id);
  values_.push_back({std::move(name), std::move(type), kNoNode});
  constants_.push_back({id, kind});
  return id;
}

NodeId Graph::add_node(const OpInfo& op, std::vector<ValueId> inputs, Attributes attributes,
                       std::vector<TensorType> types, std::vector<std::string> names) {
  const auto id = static_cast<NodeId>(nodes_.size());
  names.resize(types.size());
  Node node{&op, std::move(inputs), std::move(attributes), {}};
  for (size_t i = 0; i < types.size(); ++i)
    node.outputs.push_back(add_value(std::move(names[i]), std::move(types[i]), id));
  nodes_.push_back(std::move(node));
  return id;
}

void Graph::rename(ValueId id, std::string name) {
  Value& v = value(id);
  value_names_.erase(v.name);
  v.name = unique_name(std::move(name), id);
  value_names_.emplace(v.name, id);
}

std::optional<ValueId> Graph::find(std::string_view name) const {
  const auto found = value_names_.find(name);
  if (found == value_names_.end()) return std::nullopt;
  return found->second;
}

std::optional<ValueId> Graph::find_constant(std::string_view name) const {
  const auto found = constant_names_.find(name);
  if (found == constant_names_.end()) return std::nullopt;
  return found->second;
}

bool Graph::is_constant(ValueId id) const {
  // Constants are kept in order of their ids.
  const auto found = std::lower_bound(constants_.begin(), constants_.end(), id,
                                      [](const GraphConstant& c, ValueId v) { return c.value < v; });
  return found != constants_.end() && found->value == id;
}

const Attribute& attribute(const Node& node, std::string_view name) {
  for (const auto& [key, value] : node.attributes)
    if (key == name) return value;
  const auto& schema = node.op->attributes;
  return std::find_if(schema.begin(), schema.end(), [&](const AttributeSchema& a) { return a.name == name; })
      ->default_value;
}

}  // namespace edge_infer
