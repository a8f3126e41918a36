// Kernels read through index operands unchecked; whoever makes a batch checks them once. For models that is
// the embedder; for arbitrary graphs on arbitrary tensors it is this.
#pragma once

#include "compiler/graph/evaluate.h"

namespace edge_infer {

// Evaluates every index operand of `graph` (ids, gather indices, sequence offsets) and checks its range.
// Errors: kInvalidArgument naming the value, the index and the size.
Status check_indices(const Graph& graph, const TensorMap& tensors, const SymbolValues& symbols);

}  // namespace edge_infer
