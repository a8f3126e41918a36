// Runs a graph on host tensors through its fallback program: edge-opt --run fallback, differential tests.
#pragma once

#include <span>
#include <vector>

#include "compiler/graph/evaluate.h"
#include "runtime/device/device.h"

namespace edge_infer {

// The outputs in order. `inputs` are in the graph's order, `constants` are bound by name; packed formats are
// packed for the occasion. At most `max_workers` workers. Errors: as lower_fallback, BoundProgram and
// evaluate().
Result<std::vector<HostTensor>> run_fallback(const Graph& graph, const Device& device,
                                             std::span<const HostTensor> inputs, const TensorMap& constants,
                                             int max_workers);

}  // namespace edge_infer
