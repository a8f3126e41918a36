// What a forward pass must do at least: arithmetic and memory traffic of a program at given sizes.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/graph/graph.h"
#include "runtime/program/program.h"

namespace edge_infer {

// Floating-point operations (a multiply-add is two) of the matrix products of `graph` for texts of these
// lengths: linear layers, products and attention; the rest is small beside them.
double graph_flops(const Graph& graph, std::span<const int64_t> lengths);

// Bytes of the temporaries of one call with texts of these lengths.
double program_arena_bytes(const Program& program, std::span<const int64_t> lengths);

// Bytes that the calls of `program` read and write when each buffer travels once a call, in the phases that
// run with that many workers. `symbols` in the program's order.
double program_bytes(const Program& program, std::span<const int64_t> symbols, int workers);

}  // namespace edge_infer
