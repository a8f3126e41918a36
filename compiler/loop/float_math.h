// Scalar floating ops in double, as the loop IR defines them.
#pragma once

#include "compiler/loop/loop_nest.h"

namespace edge_infer::loop {

double float_op(ScalarOp op, double a);
double float_op(ScalarOp op, double a, double b);
bool float_compare(ScalarOp op, double a, double b);

}  // namespace edge_infer::loop
