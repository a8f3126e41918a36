// Graph: what to compute, as functional SSA over ATen operators. Sizes are SymInts. Values are never mutated
// and views have no storage meaning. Nodes and values are held by index in creation order, which is a
// topological order.
//
// Text form (graph/print.h, graph/parse.h, docs/graph_ir.md), the input of every test:
//   const $w: f32[1536, 384]
//   graph @g(%x: f32[T, 384], %cu: i32[B+1]) symbols(T in 1..16384 hint 128, B in 1..1024 hint 1) {
//     %y = aten.linear(%x, $w, none) : f32[T, 1536]
//     return %y
//   }
// Constants are declared in front and bound by name; attributes follow the operands as name=value; result
// types are required; an absent optional operand prints as `none`; `//` starts a comment, except in a size,
// where it divides.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/symbolic/sym_int.h"

namespace edge_infer {

struct OpInfo;  // op_table.h

using ValueId = int32_t;
using NodeId = int32_t;
constexpr ValueId kNoValue = -1;  // an optional operand that is absent
constexpr NodeId kNoNode = -1;    // the producer of inputs and constants
constexpr int64_t kMaxRank = 8;

// Dense row-major tensors; a layout other than that is a buffer's matter, not a value's.
struct TensorType {
  DType dtype = DType::kF32;
  std::vector<SymInt> sizes;
  friend bool operator==(const TensorType&, const TensorType&) = default;
  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  SymInt elements() const;  // product of sizes
};

// Attribute of a node; the op's schema fixes the alternative of each name. monostate is `none`, the value of
// an optional attribute that is not given.
using Attribute = std::variant<std::monostate, bool, int64_t, double, std::string, DType,
                               std::vector<int64_t>, SymInt, std::vector<SymInt>>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

struct Node {
  const OpInfo* op = nullptr;
  std::vector<ValueId> inputs;  // kNoValue where an optional operand is absent
  Attributes attributes;        // in schema order, defaults left out
  std::vector<ValueId> outputs;
};

struct Value {
  std::string name;  // without sigil; unique among the constants, or among all other values
  TensorType type;
  NodeId producer = kNoNode;
};

enum class InputKind { kUser, kState };  // parameters and buffers are constants
enum class OutputKind { kUser, kStateUpdate, kSaved };
enum class ConstantKind { kParameter, kBuffer };

struct GraphInput {
  ValueId value;
  InputKind kind = InputKind::kUser;
};
struct GraphOutput {
  ValueId value;
  OutputKind kind = OutputKind::kUser;
  ValueId state = kNoValue;  // the state input that a kStateUpdate replaces
};
// A tensor known by name (a weight of the model file, an array of an .npz); the graph holds no data.
struct GraphConstant {
  ValueId value;
  ConstantKind kind = ConstantKind::kParameter;
};

class Graph {
 public:
  explicit Graph(std::string name = "g") : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  std::vector<Symbol>& symbols() { return symbols_; }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  const std::vector<GraphInput>& inputs() const { return inputs_; }
  const std::vector<GraphConstant>& constants() const { return constants_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  std::vector<GraphOutput>& outputs() { return outputs_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  Node& node(NodeId id) { return nodes_[static_cast<size_t>(id)]; }
  // References to values stay valid while the graph grows, those to nodes do not.
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  Value& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  int64_t value_count() const { return static_cast<int64_t>(values_.size()); }

  ValueId add_input(std::string name, TensorType type, InputKind kind = InputKind::kUser);
  ValueId add_constant(std::string name, TensorType type, ConstantKind kind = ConstantKind::kParameter);
  // A second constant of one name is the caller's mistake: the first keeps the name (GraphBuilder reports
  // it). Appends a node whose result types are already known (parser, passes); GraphBuilder infers them
  // instead. Value names are made unique ("y", "y_1", ...); empty names become "v<id>".
  NodeId add_node(const OpInfo& op, std::vector<ValueId> inputs, Attributes attributes,
                  std::vector<TensorType> types, std::vector<std::string> names = {});
  void add_output(GraphOutput output) { outputs_.push_back(output); }
  // Gives a value that is no constant another name, made unique like those of new values.
  void rename(ValueId id, std::string name);

  std::optional<ValueId> find(std::string_view name) const;           // an input or a result, by name
  std::optional<ValueId> find_constant(std::string_view name) const;  // by name
  bool is_constant(ValueId id) const;

 private:
  using Names = std::map<std::string, ValueId, std::less<>>;
  ValueId add_value(std::string name, TensorType type, NodeId producer);
  std::string unique_name(std::string name, ValueId id) const;

  std::string name_;
  Names value_names_, constant_names_;
  std::vector<Symbol> symbols_;
  std::vector<GraphInput> inputs_;
  std::vector<GraphConstant> constants_;
  std::vector<GraphOutput> outputs_;
  std::vector<Node> nodes_;
  std::deque<Value> values_;  // references stay while values are added
};

// The attribute `name` of `node`, else the schema's default. Undefined for names that the schema lacks.
const Attribute& attribute(const Node& node, std::string_view name);
template <typename T>
const T& attribute_as(const Node& node, std::string_view name) {
  return std::get<T>(attribute(node, name));
}

}  // namespace edge_infer
