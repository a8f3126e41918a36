// Expressions of a nest flattened for evaluate(): one instruction a node, each node once a statement, indices
// as affine forms over numbered variables.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "compiler/loop/loop_nest.h"
#include "compiler/loop/tensor_view.h"

namespace edge_infer::loop {

// An integer expression over variables by position.
struct IndexCode {
  struct Term {
    int64_t coefficient;
    int32_t variable;
  };
  int64_t constant = 0;
  std::vector<Term> terms;
  std::optional<SymCode> general;  // where it is not affine

  // INT64_MIN on overflow or division by zero.
  int64_t evaluate(std::span<const int64_t> variables) const;
};

struct Instruction {
  Expr::Kind kind;
  ScalarOp op;
  DType dtype;                      // of the result
  DType from;                       // of the first operand
  std::array<int32_t, 3> operands;  // registers
  int32_t id;                       // value, buffer or local; kSize, kLoad, kLocal: see index
  int32_t index;                    // into indices
  Cell constant;
};
struct ExprCode {
  std::vector<Instruction> instructions;  // register i is the result of instruction i
  std::vector<IndexCode> indices;
};

// Numbers the variables: size symbols, then axes, then values. Names of axes count while they are in scope.
class CodeBuilder {
 public:
  explicit CodeBuilder(const LoopNest& nest);
  size_t variables() const { return names_.size(); }
  int32_t axis_variable(AxisId axis) const { return static_cast<int32_t>(nest_.symbols.size()) + axis; }
  int32_t value_variable(int32_t value) const {
    return static_cast<int32_t>(nest_.symbols.size() + nest_.axes.size()) + value;
  }
  void enter(AxisId axis);
  void leave(AxisId axis);

  Result<IndexCode> index(const SymInt& e) const;
  Result<ExprCode> expression(ExprId root) const;

 private:
  const LoopNest& nest_;
  std::vector<Symbol> names_;  // by variable; no name: not in scope
};

}  // namespace edge_infer::loop
