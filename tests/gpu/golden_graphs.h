// The graphs of tests/golden/loops with random operands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/graph/evaluate.h"
#include "compiler/graph/graph.h"

namespace edge_infer::test {

struct GoldenOperands {
  std::vector<HostTensor> inputs;
  TensorMap constants;
};

struct GoldenGraph {
  Graph graph;
  // Constants follow from `seed` alone. A graph of packed sequences gets sequences of these lengths; others
  // small fixed sizes.
  GoldenOperands operands(const std::vector<int64_t>& lengths, uint64_t seed) const;
  std::vector<HostTensor> inputs(const std::vector<int64_t>& lengths, uint64_t seed) const;
  TensorMap constants(uint64_t seed) const;
};

// Runs in the project's root. Errors: a graph that does not parse.
Result<GoldenGraph> golden_graph(const std::string& name);

}  // namespace edge_infer::test
