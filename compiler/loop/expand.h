// The graph that the scheduler works on: the caller's, with compound ops in parts (softmax, norms, mean,
// variance) and a copy wherever a value must have a buffer of its own (outputs that are views, operands of
// prebuilt kernels).
#pragma once

#include <set>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/loop/index.h"
#include "compiler/loop/lower.h"

namespace edge_infer::loop {

enum class NodeKind {
  kView,
  kConstant,  // constants joined along dimension 0, or rounded to the type they are packed in: one constant
  kPure,      // any element by itself, at any index: pointwise, gathers, cat, fills
  kReduce,    // over dimensions; loop.moments too
  kScan,      // along a dimension
  kPool,      // over the rows of a segment
  kGemm,
  kAttention,
  kPrebuilt,
};

struct Expansion {
  Graph graph;
  std::vector<NodeKind> kinds;             // by node
  std::vector<NodeId> origin;              // by node: the caller's
  std::vector<ValueId> original;           // by value: the caller's, or kNoValue
  std::vector<std::vector<NodeId>> users;  // by value: ascending, through views; each node once
  // The caller's nodes whose parts must share a nest: between them lies what nobody stores.
  std::set<NodeId> inseparable;
  // The caller's name of each size symbol that an axis or a value could have been named.
  std::map<std::string, SymInt, std::less<>> symbol_names;
  // By value: f32 results that lie in memory as `narrow` (LowerOptions::narrow_temps); empty for none.
  std::vector<bool> is_narrow{};
  DType narrow = DType::kF32;

  NodeKind kind(NodeId id) const { return kinds[static_cast<size_t>(id)]; }
  const std::vector<NodeId>& users_of(ValueId v) const { return users[static_cast<size_t>(v)]; }
  // The type of the value's elements in memory.
  DType stored_dtype(ValueId v) const {
    return !is_narrow.empty() && is_narrow[static_cast<size_t>(base(v))] ? narrow : graph.value(v).type.dtype;
  }
  // What a view is a view of.
  ValueId base(ValueId v) const;
  // The node that computes the value's base; kNoNode for inputs and constants.
  NodeId source(ValueId v) const;
  // Its dimensions that a kReduce node reduces, ascending.
  std::vector<size_t> reduced(const Node& node) const;
};

// `whole`: nodes of the caller's graph that keep their prebuilt kernels, besides what the options prefer to.
// With LowerOptions::half_class linears of such operands are kGemm, too; where all that reads one widens it
// to f32, its sum is not rounded in between.
Result<Expansion> expand(const Graph& graph, const std::set<NodeId>& whole, const LowerOptions& options);

// How attention reads rows: element (t, c) of the value is base[t * row + offset + c]. nullopt where it is
// not so.
struct RowView {
  ValueId base = kNoValue;
  int64_t row = 0, offset = 0;
};
std::optional<RowView> row_view(const Graph& graph, ValueId v);

}  // namespace edge_infer::loop
