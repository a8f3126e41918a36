// A second, plain interpreter of loop programs for these tests: doubles and int64, loops as written.
#pragma once

#include "compiler/graph/evaluate.h"
#include "compiler/loop/loop_program.h"

namespace edge_infer::loop::test {

// The program's outputs; prebuilt steps run the evaluators of their nodes.
Result<std::vector<HostTensor>> interpret(const LoopProgram& program, const Graph& graph,
                                          std::span<const HostTensor> inputs, const TensorMap& constants);

}  // namespace edge_infer::loop::test
