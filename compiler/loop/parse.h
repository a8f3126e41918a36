// Reads the text form of a loop nest (docs/loop_ir.md). Hostile text is an error: length, nesting and counts
// are bounded.
#pragma once

#include <string_view>

#include "compiler/loop/loop_nest.h"

namespace edge_infer::loop {

// Checks syntax, names of values, buffers and locals, and the types of operands; scopes and accesses are
// verify()'s. Expressions are kept as written: nothing is folded. Errors: kInvalidArgument with line, column
// and what was expected, kResourceExhausted beyond a limit.
Result<LoopNest> parse_nest(std::string_view text);

}  // namespace edge_infer::loop
