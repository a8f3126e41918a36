// The text form of loop nests (docs/loop_ir.md). Canonical: equal nests print equal, and
// parse_nest(print(nest)) prints the same again.
#pragma once

#include <string>

#include "compiler/graph/graph.h"
#include "compiler/loop/loop_nest.h"
#include "compiler/loop/loop_program.h"

namespace edge_infer::loop {

// The nest must verify; one that does not may print what does not parse, but is never read out of bounds.
std::string print(const LoopNest& nest);
// The same without the name: equal text is one kernel.
std::string print_identity(const LoopNest& nest);
// One expression: `(c0[n] - %v1) * %v3`. Shared nodes are written at each use.
std::string print(const LoopNest& nest, ExprId expr);
std::string print_number(double value);  // the shorter of decimal and hexadecimal digits that give it back

// Nests, then the program: buffers, steps with their graph nodes, and the edges left un-fused with their
// reasons. For people and golden tests; only its nests parse.
std::string print_loops(const LoopProgram& program, const Graph& graph);

}  // namespace edge_infer::loop
