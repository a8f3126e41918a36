// Loop programs and nests of the conformance tests' random graphs for a CUDA target.
#pragma once

#include <string>
#include <vector>

#include "compiler/loop/lower.h"
#include "tests/conformance/random_graph.h"

namespace edge_infer::cuda::test {

struct RandomProgram {
  edge_infer::test::RandomGraph random;
  Graph graph;  // after the passes
  loop::LoopProgram program;
};
Result<RandomProgram> random_program(const std::string& target, uint64_t seed);

// The distinct nests of graphs begin .. end.
Result<std::vector<loop::LoopNest>> random_nests(const std::string& target, uint64_t begin, uint64_t end);

}  // namespace edge_infer::cuda::test
