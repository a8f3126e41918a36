// Random graphs whose rounding errors are known: each value carries a bound of its magnitude and of how far a
// conforming backend may be from evaluate(), carried forward by first-order rules, so that the comparison is
// strict and no graph drowns in its own errors. Values that must agree to the bit stay so; only they feed
// comparisons, rounding and arg-reductions, where a small error would become a large one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/conformance/case.h"

namespace edge_infer::test {

struct RandomGraph {
  Graph graph;
  std::vector<double> error_bounds;                 // of each output; 0: exact
  std::vector<std::vector<HostTensor>> input_sets;  // for T = 1, 5, 23
  TensorMap constants;
  std::map<std::string, int> op_counts;
};

// `nodes` operators on the symbol T and static sizes; the same seed gives the same graph.
RandomGraph make_random_graph(uint64_t seed, int nodes);

}  // namespace edge_infer::test
