// The rules that every nest obeys (docs/loop_ir.md), checked before a nest is evaluated, printed for a golden
// test or given to a code generator: ids in range; types equal; one work axis, outermost; axes, values and
// locals in scope and defined once, before use; kinds of axes where they stand; GEMM and attention within
// their restrictions; each buffer accessed as it declares; a class. Accesses that are provably out of bounds,
// and stores of different iterations of a work or lane axis that provably meet, at the smallest, hinted or
// largest symbol values, are errors, too; what cannot be decided passes.
#pragma once

#include "compiler/loop/loop_nest.h"

namespace edge_infer::loop {

// Errors: kInvalidArgument, with the nest's name and the statement.
Status verify(const LoopNest& nest);

}  // namespace edge_infer::loop
