#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "compiler/graph/op_table.h"
#include "compiler/graph/ops.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace edge_infer {
namespace {

using Ids = std::span<const ValueId>;
using Dims = std::vector<int64_t>;

const Node* producer_of(const Graph& graph, ValueId id, std::string_view op) {
  if (id == kNoValue || graph.value(id).producer == kNoNode) return nullptr;
  const Node& node = graph.node(graph.value(id).producer);
  return node.op->name == op ? &node : nullptr;
}

Replacement one(ValueId id) {
  return std::vector{id};
}

bool is_number(const Attribute& scalar, int64_t number) {
  return scalar == Attribute(number) || scalar == Attribute(static_cast<double>(number));
}

// Ops that return their operand.
bool is_identity(const Node& node, const TensorType& from, const TensorType& to) {
  const std::string& op = node.op->name;
  if (op == "aten.clone") return true;
  if (!(from == to)) return false;
  if (op == "aten._to_copy" || op == "aten.view" || op == "aten.expand" || op == "aten.squeeze") return true;
  // A slice in steps of 1 that is as long as its operand starts at 0.
  if (op == "aten.slice") return attribute_as<int64_t>(node, "step") == 1;
  if (op == "aten.permute") {
    Dims dims = attribute_as<Dims>(node, "dims");
    for (int64_t& d : dims) d = d < 0 ? d + from.rank() : d;
    return std::is_sorted(dims.begin(), dims.end());
  }
  if (op == "aten.cat") return node.inputs.size() == 1;
  if (op == "aten.mul.Scalar" || op == "aten.div.Scalar" || op == "aten.pow.Scalar")
    return is_number(attribute(node, "scalar"), 1);
  return false;
}

// --- Views: view and permute alone, one of a kind in a row, with explicit sizes ---

Replacement canonical_view(GraphBuilder& b, const Node& node, ValueId x, const TensorType& to) {
  const Node* inner = producer_of(b.graph(), x, "aten.view");
  const ValueId source = inner != nullptr ? inner->inputs[0] : x;
  if (b.type(source) == to) return one(source);
  const bool is_explicit = node.op->name == "aten.view" && attribute_as<Sizes>(node, "size") == to.sizes;
  if (inner == nullptr && is_explicit) return std::nullopt;
  return one(b.op("aten.view", {source}, {{"size", to.sizes}}));
}

Replacement canonical_permute(GraphBuilder& b, const Node& node, ValueId x) {
  const int64_t rank = b.type(x).rank();
  Dims dims(static_cast<size_t>(rank));
  if (node.op->name == "aten.transpose") {
    if (rank == 0) return one(x);
    std::iota(dims.begin(), dims.end(), 0);
    const auto at = [&](const char* name) {
      return static_cast<size_t>(wrap_dim(attribute_as<int64_t>(node, name), rank).value_or(0));
    };
    std::swap(dims[at("dim0")], dims[at("dim1")]);
  } else {
    dims = attribute_as<Dims>(node, "dims");
    for (int64_t& d : dims) d = d < 0 ? d + rank : d;
  }
  ValueId source = x;
  if (const Node* inner = producer_of(b.graph(), x, "aten.permute")) {
    source = inner->inputs[0];
    const Dims& first = attribute_as<Dims>(*inner, "dims");
    for (int64_t& d : dims) d = first[static_cast<size_t>(d)];
  }
  if (std::is_sorted(dims.begin(), dims.end())) return one(source);
  if (source == x && node.op->name == "aten.permute" && dims == attribute_as<Dims>(node, "dims"))
    return std::nullopt;
  return one(b.op("aten.permute", {source}, {{"dims", dims}}));
}

// --- Numbers ---

// The number that a 0-dimensional aten.full of the result's type holds.
const Attribute* held_number(const GraphBuilder& b, const Graph& graph, ValueId id, DType result) {
  const Node* full = producer_of(graph, id, "aten.full");
  if (full == nullptr || b.type(id).rank() != 0 || b.type(id).dtype != result) return nullptr;
  return &attribute(*full, "fill_value");
}

// op(x, full) as op.Scalar(x, number), where the tensor already has the type computed in.
Replacement with_scalar(GraphBuilder& b, const Node& node, Ids in, const TensorType& to) {
  const std::string name = node.op->name + ".Scalar";
  if (in.size() != 2 || find_op(name) == nullptr) return std::nullopt;
  for (const size_t side : {size_t{1}, size_t{0}}) {
    if (side == 0 && !node.op->is_commutative) break;
    const ValueId x = in[1 - side];
    const DType compute = b.type(x).dtype;
    if (b.type(x).rank() == 0 || !is_floating(compute) || dtype_size(compute) < 4) continue;
    if (to.dtype != compute && to.dtype != DType::kBool) continue;
    const Attribute* number = held_number(b, b.graph(), in[side], compute);
    if (number != nullptr) return one(b.op(name, {x}, {{"scalar", Attribute(*number)}}));
  }
  return std::nullopt;
}

// An integer written for a floating tensor is the float.
std::optional<Attributes> floating_scalars(const GraphBuilder& b, const Node& node, Ids in) {
  if (in.empty() || in[0] == kNoValue || !is_floating(b.type(in[0]).dtype)) return std::nullopt;
  Attributes attributes = node.attributes;
  bool changed = false;
  for (auto& [name, value] : attributes) {
    const auto schema = std::find_if(node.op->attributes.begin(), node.op->attributes.end(),
                                     [&, &key = name](const AttributeSchema& a) { return a.name == key; });
    if (schema->kind != AttributeKind::kScalar) continue;
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      value = static_cast<double>(*integer);
      changed = true;
    }
  }
  return changed ? std::optional(std::move(attributes)) : std::nullopt;
}

// --- Dimensions counted from the front; a reduction over all of them names none ---

std::optional<Attributes> front_dims(const GraphBuilder& b, const Node& node, Ids in) {
  if (in.empty() || in[0] == kNoValue) return std::nullopt;
  const int64_t rank = b.type(in[0]).rank();
  Attributes attributes = node.attributes;
  for (auto& [name, value] : attributes) {
    if (name != "dim") continue;
    if (auto* dim = std::get_if<int64_t>(&value)) *dim = wrap_dim(*dim, rank).value_or(*dim);
    if (auto* dims = std::get_if<Dims>(&value)) {
      auto sorted = reduced_dims(*dims, rank);
      if (!sorted) return std::nullopt;
      if (static_cast<int64_t>(sorted->size()) == rank) sorted->clear();
      *dims = *std::move(sorted);
    }
  }
  auto normal = normalize_attributes(*node.op, std::move(attributes));
  if (!normal || *normal == node.attributes) return std::nullopt;
  return *std::move(normal);
}

// --- Renamed ops ---

const char* plain_name(const std::string& op) {
  if (op == "aten.mm" || op == "aten.bmm") return "aten.matmul";
  if (op == "aten.clamp_min" || op == "aten.clamp_max") return "aten.clamp";
  return nullptr;
}

// Constants last, else in order of definition.
bool is_ordered(const Graph& graph, ValueId a, ValueId b) {
  if (graph.is_constant(a) != graph.is_constant(b)) return graph.is_constant(b);
  return a <= b;
}

Replacement canonical_node(GraphBuilder& b, const Node& node, Ids in) {
  const Node inferred{node.op, {in.begin(), in.end()}, node.attributes, {}};
  EDGE_INFER_ASSIGN(const Types types, infer_types(b.graph(), inferred));
  const TensorType& to = types[0];
  const std::string& op = node.op->name;
  if (!in.empty() && in[0] != kNoValue && is_identity(node, b.type(in[0]), to)) return one(in[0]);
  if (op == "aten.split_with_sizes" && types.size() == 1) return one(in[0]);
  if (op == "aten.view" || op == "aten.squeeze" || op == "aten.unsqueeze")
    return canonical_view(b, node, in[0], to);
  if (op == "aten.permute" || op == "aten.transpose") return canonical_permute(b, node, in[0]);
  if (op == "aten.pow.Scalar" && is_floating(to.dtype) && is_number(attribute(node, "scalar"), 2))
    return one(b.op("aten.mul", {in[0], in[0]}));
  EDGE_INFER_ASSIGN(auto scalar, with_scalar(b, node, in, to));
  if (scalar) return scalar;

  const char* name = plain_name(op);
  std::vector<ValueId> operands(in.begin(), in.end());
  bool changed = name != nullptr;
  if (node.op->is_commutative && !is_ordered(b.graph(), in[0], in[1])) {
    std::swap(operands[0], operands[1]);
    changed = true;
  }
  Attributes attributes = node.attributes;
  for (const auto rule : {floating_scalars, front_dims}) {
    const Node current{node.op, operands, attributes, {}};
    if (auto next = rule(b, current, in)) {
      attributes = *std::move(next);
      changed = true;
    }
  }
  if (!changed) return std::nullopt;
  return b.op_multi(name != nullptr ? name : op, std::move(operands), std::move(attributes));
}

}  // namespace

Result<bool> canonicalize(Graph& graph, const PassContext&) {
  return rewrite(graph, canonical_node);
}

}  // namespace edge_infer
