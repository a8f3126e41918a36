#include "compiler/loop/reduce_accumulator.h"

#include <cmath>

#include "compiler/loop/float_math.h"
#include "compiler/loop/integer_math.h"
#include "compiler/loop/op_rules.h"
#include "compiler/loop/text.h"

namespace edge_infer::loop {
namespace {

constexpr int64_t kSegmentBlock = 64;

}  // namespace

ReduceAccumulator::ReduceAccumulator(ReduceOp op, DType dtype, bool segments)
    : op_(op), dtype_(dtype), segments_(segments) {
  if (is_floating(dtype)) {
    total_.number = op == ReduceOp::kProd  ? 1
                    : op == ReduceOp::kMax ? -HUGE_VAL
                    : op == ReduceOp::kMin ? HUGE_VAL
                                           : 0;
  } else {
    total_.integer = op == ReduceOp::kProd || op == ReduceOp::kAll ? 1
                     : op == ReduceOp::kMax                        ? to_integer(dtype, -HUGE_VAL)
                     : op == ReduceOp::kMin                        ? to_integer(dtype, HUGE_VAL)
                                                                   : 0;
    if (dtype == DType::kBool && op == ReduceOp::kMax) total_.integer = 0;
  }
}

void ReduceAccumulator::add(Cell x) {
  if (op_ == ReduceOp::kMoments) {
    held_.push_back(x.number);
  } else if (op_ == ReduceOp::kArgMax || op_ == ReduceOp::kArgMin) {
    if (count_ == 0 || beats(x)) total_ = x, where_ = count_;
  } else if (is_floating(dtype_)) {
    add_number(x.number);
  } else {
    add_integer(x.integer);
  }
  ++count_;
}

Result<std::array<Cell, 2>> ReduceAccumulator::finish() {
  std::array<Cell, 2> results{};
  switch (op_) {
    case ReduceOp::kArgMax:
    case ReduceOp::kArgMin:
      if (count_ == 0)
        return fail(ErrorCode::kInvalidArgument, "reduce {} over no elements", reduce_op_name(op_));
      results[0].integer = where_;
      break;
    case ReduceOp::kMoments: {
      double sum = 0, squares = 0;
      for (const double x : held_) sum += x;
      const double mean = sum / static_cast<double>(held_.size());
      for (const double x : held_) squares += (x - mean) * (x - mean);
      results[0].number = mean;
      results[1].number = squares;
      break;
    }
    default:
      if (segments_ && op_ == ReduceOp::kSum && is_floating(dtype_)) total_.number += block_;
      results[0] = total_;
  }
  return results;
}

bool ReduceAccumulator::beats(Cell x) const {
  if (!is_floating(dtype_))
    return op_ == ReduceOp::kArgMax ? x.integer > total_.integer : x.integer < total_.integer;
  if (std::isnan(total_.number)) return false;
  return std::isnan(x.number) ||
         (op_ == ReduceOp::kArgMax ? x.number > total_.number : x.number < total_.number);
}
void ReduceAccumulator::add_number(double x) {
  switch (op_) {
    case ReduceOp::kSum:
      if (!segments_) {
        total_.number += x;
        return;
      }
      if (count_ > 0 && count_ % kSegmentBlock == 0) {
        total_.number += block_;
        block_ = 0;
      }
      block_ += x;
      return;
    case ReduceOp::kProd:
      total_.number *= x;
      return;
    default:
      total_.number = float_op(op_ == ReduceOp::kMax ? ScalarOp::kMax : ScalarOp::kMin, total_.number, x);
      return;
  }
}
void ReduceAccumulator::add_integer(int64_t x) {
  const ScalarOp op = op_ == ReduceOp::kSum                            ? ScalarOp::kAdd
                      : op_ == ReduceOp::kProd                         ? ScalarOp::kMul
                      : op_ == ReduceOp::kMax || op_ == ReduceOp::kAny ? ScalarOp::kMax
                                                                       : ScalarOp::kMin;
  total_.integer = *integer_op(op, dtype_, total_.integer, x);
}

}  // namespace edge_infer::loop
