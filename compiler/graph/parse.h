// Reads the text form of a graph (docs/graph_ir.md). Hostile text is an error: sizes, nesting and counts are
// bounded.
#pragma once

#include <string_view>

#include "compiler/graph/graph.h"

namespace edge_infer {

// Checks syntax, names and schemas; types are as declared, verify() compares them with the inferred ones.
// Errors: kInvalidArgument (kUnsupported for an unknown op) with line and column, kResourceExhausted beyond a
// limit.
Result<Graph> parse_graph(std::string_view text);

}  // namespace edge_infer
