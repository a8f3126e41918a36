// The compiler as edge-opt shows and runs it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/evaluate.h"

namespace edge_infer {

struct CompileFor {
  std::string target;  // empty for the best one of this machine's processor
  DType precision = DType::kF32;
};

// What to print of the compiled graph: "loops" (nests, steps, un-fused edges), "source" (every distinct
// kernel), "program". The graph is lowered as it is; passes are the caller's. The machine need not have the
// target.
Result<std::string> compiled_text(const Graph& graph, const CompileFor& where, std::string_view what);

// Evaluates the loop nests in double.
Result<std::vector<HostTensor>> loops_run(const Graph& graph, const CompileFor& where,
                                          const TensorMap& tensors);

// Compiles and runs on this machine. Errors: kUnsupported when the machine lacks the
// target.
Result<std::vector<HostTensor>> compiled_run(const Graph& graph, const CompileFor& where,
                                             const TensorMap& tensors);

}  // namespace edge_infer
