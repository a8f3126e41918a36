// Lowers a graph and compares the program's outputs with evaluate()'s.
#pragma once

#include <string>
#include <string_view>

#include "compiler/graph/evaluate.h"
#include "compiler/loop/lower.h"

namespace edge_infer::loop::test {

// Parses or fails the test.
Graph graph_of(std::string_view text);
// Through the passes that run before lowering.
Graph optimized(std::string_view text);

// Nests, steps and reasons, for failures and golden files.
std::string text_of(const LoopProgram& program, const Graph& graph);

int nest_steps(const LoopProgram& program);

// Empty where every nest verifies and all outputs agree within 1e-5 relative (integers exactly) for the
// inputs.
std::string difference_from_evaluate(const LoopProgram& program, const Graph& graph,
                                     std::span<const HostTensor> inputs, const TensorMap& constants,
                                     std::span<const double> error_bounds = {});

// The same with random inputs and constants at these values of the symbols, one after the other. Inputs of
// i32 named "cu" are offsets, other integers indices below 3.
std::string check_graph(const Graph& graph, const LoopProgram& program,
                        const std::vector<SymbolValues>& symbol_values);

}  // namespace edge_infer::loop::test
