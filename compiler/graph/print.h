// The text form of a graph: canonical, and parse(print(graph)) prints the same again.
#pragma once

#include <string>

#include "compiler/graph/graph.h"

namespace edge_infer {

std::string print(const Graph& graph);

// `f32[T, 384]`
std::string print(const TensorType& type);
// One node without indentation or newline: `%y = aten.add(%a, %b) : f32[T]`.
std::string print_node(const Graph& graph, const Node& node);
// `none`, `true`, `2`, `2.5`, `"tanh"`, `f32`, `[0, 1]`, `B*T`, ... A float always has a point, an exponent
// or a name
// (`inf`, `nan`), and the digits that give the same double back.
std::string print(const Attribute& attribute);

}  // namespace edge_infer
