// The rules that every graph obeys, checked after each pass in tests and before a graph is used:
// operands are defined before their use; op schemas hold (operands, attributes, defaults left out); result
// types are the inferred ones; names are unique; every symbol used is declared once, with lo <= hint <= hi
// and lo >= 0; constants have plain sizes; user inputs and outputs exist; each state input is updated at most
// once, by a value of its type.
#pragma once

#include "compiler/graph/graph.h"

namespace edge_infer {

// Errors: kInvalidArgument naming the node or value.
Status verify(const Graph& graph);

}  // namespace edge_infer
