// The value of a Reduce as the evaluator defines it (loop_ir.md; internal to compiler/loop).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "compiler/loop/loop_nest.h"
#include "compiler/loop/register_code.h"

namespace edge_infer::loop {

// Accumulates a Reduce, one element at a time, in order.
class ReduceAccumulator {
 public:
  ReduceAccumulator(ReduceOp op, DType dtype, bool segments);

  void add(Cell x);
  // The value, or mean and sum of squared distances.
  Result<std::array<Cell, 2>> finish();

 private:
  bool beats(Cell x) const;
  void add_number(double x);
  void add_integer(int64_t x);

  ReduceOp op_;
  DType dtype_;
  bool segments_;
  Cell total_{};
  double block_ = 0;
  int64_t count_ = 0, where_ = 0;
  std::vector<double> held_;
};

}  // namespace edge_infer::loop
