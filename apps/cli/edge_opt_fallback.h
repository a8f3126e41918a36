// The fallback as edge-opt shows and runs it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/evaluate.h"

namespace edge_infer {

// "cpu.portable", "cpu.avx2" or "cpu.avx512"; empty: the best one of this machine.
bool is_target_name(std::string_view target);

// The Program of prebuilt kernels that the graph becomes for a target, as text; the machine need not have it.
Result<std::string> fallback_program_text(const Graph& graph, std::string_view target);

// Runs that program on this machine: inputs and constants by name, the outputs in order. Errors: kUnsupported
// when the machine lacks the target.
Result<std::vector<HostTensor>> fallback_run(const Graph& graph, std::string_view target,
                                             const TensorMap& tensors);

}  // namespace edge_infer
