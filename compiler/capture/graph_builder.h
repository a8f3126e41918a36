// GraphBuilder: how models/architectures (and passes) write a Graph. Each call infers result types through the op
// table and appends one node. The first error sticks: later calls do nothing, and finish() returns it, so that a
// model definition reads without error handling in between.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"

namespace edge_infer {

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name) : owned_(std::move(name)), graph_(&owned_) {}
  // Appends to an existing graph (decompositions); `graph` outlives the builder.
  explicit GraphBuilder(Graph& graph) : graph_(&graph) {}

  SymInt symbol(std::string name, SymRange range, int64_t hint);
  ValueId input(std::string name, DType dtype, std::vector<SymInt> sizes);
  ValueId constant(std::string name, DType dtype, std::vector<SymInt> sizes);
  // `op` with operands in schema order (kNoValue for an absent optional one) and attributes by name.
  ValueId op(std::string_view name, std::vector<ValueId> inputs,
             std::vector<std::pair<std::string, Attribute>> attributes = {}, std::string result_name = {});
  std::vector<ValueId> op_multi(std::string_view name, std::vector<ValueId> inputs,
                                std::vector<std::pair<std::string, Attribute>> attributes = {});
  void output(ValueId value);
  const TensorType& type(ValueId value) const { return graph_->value(value).type; }
  Graph& graph() { return *graph_; }

  void set_error(Error error);
  const Error* error() const { return failed_ ? &error_ : nullptr; }
  Result<Graph> finish();  // verifies; only for a builder that owns its graph

 private:
  Graph owned_;
  Graph* graph_;
  bool failed_ = false;
  Error error_;
};

}  // namespace edge_infer
