// Where a program's size symbols get their values from.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"
#include "runtime/program/program.h"

namespace edge_infer {

// For each symbol of the graph, in order, the first input dimension that is the symbol plus a constant.
// Errors: kUnsupported naming a symbol that no input determines.
Result<std::vector<Program::SymbolSource>> find_symbol_sources(const Graph& graph);

}  // namespace edge_infer
