// The guards under which a graph's program serves a call.
#pragma once

#include "compiler/graph/graph.h"
#include "runtime/guards/guard_set.h"

namespace edge_infer {

// Dtype, rank and sizes of each user input (numbers, symbol ranges, sizes that share a symbol), element
// alignment, settings. Sizes that are expressions of several symbols are left to the program's own checks.
GuardSet make_guards(const Graph& graph, const CallSettings& settings);

}  // namespace edge_infer
