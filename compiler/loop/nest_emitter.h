// NestEmitter: the nest of a group of nodes, or why there is none. Values are computed on demand: pure ones
// wherever they are read, rows that several loops read once into a Local, what another group reads into its
// buffer.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/loop/expand.h"
#include "compiler/loop/lower.h"

namespace edge_infer::loop {

struct EmittedNest {
  LoopNest nest;
  std::vector<ValueId> arguments;  // of the expanded graph, one per buffer of the nest
  int operands = 0;                // buffers that a gemm's `a` and weight read
};
using Refusal = std::string;  // one of the reasons of loop_program.h
using Emitted = std::expected<EmittedNest, Refusal>;

class NestEmitter {
 public:
  // `nodes` ascending; `stored`: the values that get a buffer.
  NestEmitter(const Expansion& graph, const LowerOptions& options, std::vector<NodeId> nodes,
              std::vector<ValueId> stored);
  Emitted run();

 private:
  // Where an element of a member lies: its row, and its column among the value's columns.
  struct Place {
    SymInt row, column;
  };
  // What is being written: statements go to `body` (none inside the operand of a Reduce or a Gemm).
  struct Scope {
    enum class Kind { kRow, kLane, kGemm, kReduce, kOperand } kind = Kind::kRow;
    int id = 0;
    int64_t reads = 1;       // elements that it computes a row, at the hint sizes
    SymInt column = 0;       // kLane, kGemm: the loop's own column
    Body* body = nullptr;    // kRow, kLane, kGemm
    Scope* outer = nullptr;  // kReduce: the loop around it
    std::map<ValueId, std::vector<std::pair<Index, std::pair<ExprId, ExprId>>>> memo;  // index, (guard, expr)
    std::map<NodeId, std::vector<int32_t>> reductions;
    std::map<ExprId, int32_t> lets;
  };
  // Values that one loop stores.
  struct Batch {
    enum class State { kWaiting, kOpen, kDone } state = State::kWaiting;
    bool is_gemm = false, is_row = false, is_scan = false;
    SymInt columns = 1;
    std::vector<ValueId> sinks;
    ValueId current = kNoValue;
    int loop = -1;
  };

  // --- Rows (nest_rows.cpp)
  std::optional<Refusal> choose_rows();
  std::optional<Refusal> fit_one_row();
  bool is_small() const;
  void find_other_rows();
  std::optional<SymInt> columns_of(ValueId v);
  std::optional<SymInt> fixed_rows(NodeId id) const;
  int64_t at_hints(const SymInt& e) const;
  Place locate(ValueId v, const Index& index);
  Index index_of(ValueId v, const SymInt& row, const SymInt& column);
  bool is_row_reduction(NodeId id);
  int stage(ValueId v);
  bool depends_on_gemm(ValueId v);
  bool is_of_gemm_loop(ValueId v);  // may be computed where the product's elements are
  bool reads_gemm(ValueId v);       // the product that is being computed, not a Local that holds it
  ValueId worth_holding(
      ValueId v);  // of a value that is read outside of the gemm's loop and what it is made of
  bool is_cheap(ValueId v);
  std::pair<int, int> cost(ValueId v);  // operations and loads of an element

  // --- Statements
  void reset();
  void emit_all();
  void make_batches();
  void emit(Batch& batch);
  void emit_loop(Batch& batch, Scope& scope);
  void emit_gemm(Batch& batch);
  void fill(ValueId v);
  size_t scanned(const Node& n) const;  // the dimension
  bool holds_scan(const Node& n) const;
  void emit_scan(Batch& batch);
  bool hold_shared_values();
  // Decisions that only an attempt brings to light: the attempt is given up and made again.
  void must_hold(ValueId v);
  void set_apart(ValueId sink);
  void refuse(const std::string& reason);
  bool failed() const { return restart_ || refusal_.has_value(); }

  // --- Expressions (nest_values.cpp)
  ExprId at(ValueId v, Index index);
  ExprId load(ValueId v, const Index& index);
  ExprId computed(ValueId v, const Index& index);
  ExprId pure(const Node& node, ValueId v, const Index& index);
  ExprId cat(const Node& node, ValueId v, const Index& index);
  ExprId gather(const Node& node, const Index& index);
  ExprId reduction(const Node& node, ValueId v, const Index& index);
  ExprId pooled(const Node& node, const Index& index);
  ExprId linear(const Node& node, const Index& index);
  std::optional<ExprId> from_local(ValueId v, const Place& place);
  std::vector<int32_t> reduce(const Node& node, const Index& kept, Scope& home);
  SymInt indirect(ExprId expr, const SymInt& size);
  int32_t let(ExprId expr, Scope& scope);
  ExprId anything(DType dtype);  // stands in after a failure
  ExprId stored(ValueId v, ExprId e) { return b_->cast(e, g_.stored_dtype(v)); }
  Scope& loop_scope();
  int level_of(const SymInt& e) const;

  int32_t argument(ValueId v, Access access);
  AxisId add_axis(char letter, AxisKind kind, const SymInt& begin, const SymInt& extent, int level);
  int32_t new_value(DType dtype, int level);
  SymInt axis_symbol(AxisId id) const { return SymInt::symbol(nest_.axis(id).name); }

  bool contains(NodeId id) const { return id != kNoNode && members_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return g_.graph.node(id); }
  const TensorType& type(ValueId v) const { return g_.graph.value(v).type; }
  NodeId producer(ValueId v) const { return g_.graph.value(v).producer; }
  bool is_stored(ValueId v) const { return stored_set_.count(v) > 0; }
  bool is_held(ValueId v) const { return held_.count(v) > 0; }

  const Expansion& g_;
  const LowerOptions& options_;
  std::vector<NodeId> nodes_;
  std::vector<ValueId> stored_;
  std::set<ValueId> stored_set_;
  std::vector<bool> members_;

  // Decided over attempts.
  SymInt rows_ = 1;
  std::vector<SymInt> other_rows_;  // to be tried where those refuse a map
  std::set<ValueId> held_, apart_;
  NodeId gemm_ = kNoNode;

  // Of one attempt.
  bool restart_ = false;
  std::optional<Refusal> refusal_;
  LoopNest nest_;
  std::optional<ExprBuilder> b_;
  std::vector<ValueId> arguments_;
  int operands_ = 0;
  Bounds bounds_{std::vector<Symbol>{}};
  SymInt row_ = 0;
  Body row_body_;
  Scope row_scope_;
  Scope* scope_ = nullptr;
  ExprId guard_ = kNoExpr;
  int scopes_ = 0;
  std::vector<Batch> batches_;
  std::map<ValueId, size_t> batch_of_;
  std::map<ValueId, int32_t> local_of_;
  std::map<ValueId, std::set<int>> computed_in_;  // scopes that compute the value at their own row
  std::set<ValueId> repeated_;                    // computed more often a row than they have elements
  std::map<std::string, int, std::less<>>
      levels_;  // of axes and values: 1 in a loop of a row, 2 in a reduction
  std::map<char, int> axis_names_;
  int32_t gemm_value_ = -1;
  std::map<ValueId, int> stages_;
  std::map<ValueId, bool> gemm_dependence_;
  std::map<ValueId, std::pair<int, int>> costs_;
  std::map<ValueId, bool> reads_;
};

// The nest with dead nodes left out, row values computed outside of the row's loops, what is used twice
// computed once, buffers and values numbered in the order of their appearance.
void finish_nest(EmittedNest& emitted);
// Scalar operations of a nest, each node once.
int count_operations(const LoopNest& nest);
// Divisions and remainders in its indices.
int count_divisions(const LoopNest& nest);

}  // namespace edge_infer::loop
