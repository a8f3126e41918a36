// What a forward pass must do at least: arithmetic and memory traffic of a program at given sizes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/program/program.h"

namespace edge_infer {

// Floating-point operations (a multiply-add is two) of the matrix products of `graph` for texts of these
// lengths: linear layers, products and attention; the rest is small beside them.
double graph_flops(const Graph& graph, std::span<const int64_t> lengths);

// Bytes of the temporaries of one call with texts of these lengths.
double program_arena_bytes(const Program& program, std::span<const int64_t> lengths);

// What one call of a program does at least.
struct CallCost {
  // Floating-point operations of products with a weight and of attention; 0 for other kernels, whose
  // arithmetic is small beside their traffic.
  double flops = 0;
  double bytes = 0;   // that it reads and writes when each buffer travels once
  bool half = false;  // its products have operands of 16 bits
};

// One a call of `program`, in order of phases and calls, for texts of these lengths; zero for calls of phases
// that do not run with that many workers.
std::vector<CallCost> call_costs(const Program& program, std::span<const int64_t> lengths, int workers);

// Bytes of all calls together.
double program_bytes(const Program& program, std::span<const int64_t> lengths, int workers);

// The least time of a call on such hardware: of its arithmetic or of its traffic, whichever is longer. 0: the
// hardware's limits are not known.
double least_seconds(const CallCost& cost, const DevicePeak& peak);

}  // namespace edge_infer
