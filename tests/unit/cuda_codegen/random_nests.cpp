#include "tests/unit/cuda_codegen/random_nests.h"

#include <set>

#include "backends/cuda/codegen/cuda_code_generator.h"
#include "compiler/loop/print.h"
#include "compiler/passes/passes.h"

namespace edge_infer::cuda::test {

Result<RandomProgram> random_program(const std::string& target, uint64_t seed) {
  EDGE_INFER_ASSIGN(const CudaCodeGenerator generator, CudaCodeGenerator::for_target(target));
  RandomProgram made;
  made.random = edge_infer::test::make_random_graph(seed, static_cast<int>(3 + seed % 38));
  made.graph = made.random.graph;
  EDGE_INFER_ASSIGN(const auto reports, run_passes(made.graph, {}));
  static_cast<void>(reports);
  loop::LowerOptions options;
  options.accepts = [&](const loop::LoopNest& nest) { return generator.accepts(nest); };
  EDGE_INFER_ASSIGN(made.program, loop::lower(made.graph, options));
  return made;
}

Result<std::vector<loop::LoopNest>> random_nests(const std::string& target, uint64_t begin, uint64_t end) {
  std::vector<loop::LoopNest> nests;
  std::set<std::string> known;
  for (uint64_t seed = begin; seed < end; ++seed) {
    EDGE_INFER_ASSIGN(RandomProgram made, random_program(target, seed));
    for (loop::LoopNest& nest : made.program.nests)
      if (known.insert(loop::print_identity(nest)).second) nests.push_back(std::move(nest));
  }
  return nests;
}

}  // namespace edge_infer::cuda::test
