// GraphBuilder: how models/architectures, decompositions and passes write a Graph. Each call infers result
// types through the op table and appends one node. The first error sticks: later calls do nothing, and
// finish() returns it, so that a model definition reads without error handling in between.
#pragma once

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
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  SymInt symbol(std::string name, SymRange range, int64_t hint);
  ValueId input(std::string name, DType dtype, std::vector<SymInt> sizes, InputKind kind = InputKind::kUser);
  // The constant of that name: asked for twice with one type, it is one value.
  ValueId constant(std::string name, DType dtype, std::vector<SymInt> sizes,
                   ConstantKind kind = ConstantKind::kParameter);
  // `op` with operands in schema order (kNoValue for an absent optional one; those at the end may be left
  // out) and attributes by name. The first result, or kNoValue after an error.
  ValueId op(std::string_view name, std::vector<ValueId> inputs, Attributes attributes = {},
             std::string result_name = {});
  std::vector<ValueId> op_multi(std::string_view name, std::vector<ValueId> inputs,
                                Attributes attributes = {}, std::vector<std::string> result_names = {});
  void output(ValueId value, OutputKind kind = OutputKind::kUser, ValueId state = kNoValue);
  // After an error: a type with kMaxRank sizes of 0, so that a model definition may index it.
  const TensorType& type(ValueId value) const;
  Graph& graph() { return *graph_; }

  void set_error(Error error);
  const Error* error() const { return failed_ ? &error_ : nullptr; }
  Result<Graph> finish();  // verifies; only for a builder that owns its graph

 private:
  bool usable(ValueId value, std::string_view user);  // sets the error for ids that the graph lacks

  Graph owned_;
  Graph* graph_;
  bool failed_ = false;
  Error error_;
};

}  // namespace edge_infer
