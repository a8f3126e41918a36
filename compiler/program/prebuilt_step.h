// A graph node that keeps its prebuilt kernels inside a compiled program.
#pragma once

#include "compiler/graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/program/program.h"

namespace edge_infer {

// The node alone as a program: inputs are its present operands that are no constants, in order of first use,
// then one [s] i32 input a size symbol; outputs are its results. Errors: as lower_fallback.
Result<Program> lower_prebuilt_step(const Graph& graph, NodeId node, const Target& target);
// The graph values behind that program's inputs (without the symbols' inputs), in order.
std::vector<ValueId> prebuilt_step_inputs(const Graph& graph, NodeId node);

}  // namespace edge_infer
