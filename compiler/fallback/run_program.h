// Runs any program of a graph on host tensors: edge-opt, differential tests.
#pragma once

#include <span>
#include <vector>

#include "compiler/graph/evaluate.h"
#include "runtime/device/device.h"
#include "runtime/program/program.h"

namespace edge_infer {

// The outputs of `program`, which computes `graph`, in order. `inputs` are in the graph's order, `constants`
// are bound by name; packed formats are packed for the occasion. At most `max_workers` workers. Errors:
// kNotFound, kInvalidArgument (tensors, sizes, indices), as BoundProgram.
Result<std::vector<HostTensor>> run_program(const Graph& graph, Program program, const Device& device,
                                            std::span<const HostTensor> inputs, const TensorMap& constants,
                                            int max_workers);

// The outputs of `bound`, which computes `graph`, in order. Their memory begins as ones in all bits (NaN), so
// that what is not written shows. Errors: of Executable::run(), and for inputs that do not fit the graph.
Result<std::vector<HostTensor>> run_bound(const Graph& graph, const Executable& bound,
                                          std::span<const HostTensor> inputs, int max_workers);

}  // namespace edge_infer
