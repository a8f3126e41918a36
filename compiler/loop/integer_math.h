// Integer arithmetic of the loop IR, exact in int64 and wrapped to the element type: what constants fold with
// and evaluate() computes with.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/loop/loop_nest.h"

namespace edge_infer::loop {

// `value` as an element of an integer type (two's complement) or bool (anything but 0 is 1).
int64_t wrap_to(DType dtype, int64_t value);
// op on operands already of `dtype`. nullopt: division by zero. Shifts by less than 0 or by the width and
// more give 0, or the sign for kShr.
std::optional<int64_t> integer_op(ScalarOp op, DType dtype, int64_t a, int64_t b);
int64_t integer_op(ScalarOp op, DType dtype, int64_t a);
bool integer_compare(ScalarOp op, int64_t a, int64_t b);
// Towards zero, saturating at the bounds of `dtype`, NaN 0; bool: x != 0.
int64_t to_integer(DType dtype, double value);

}  // namespace edge_infer::loop
