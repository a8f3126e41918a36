// The first half of verify(): a nest's expressions.
#pragma once

#include "compiler/loop/loop_nest.h"

namespace edge_infer::loop {

// Each expression by itself: operands before it, ids in range, types equal, no deeper than expressions may
// be. Errors: kInvalidArgument with the expression's number.
Status verify_expressions(const LoopNest& nest);

}  // namespace edge_infer::loop
