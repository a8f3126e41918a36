// A graph whose nests run on the GPU one by one, the rest on the host.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/graph/evaluate.h"
#include "compiler/loop/loop_program.h"
#include "compiler/passes/passes.h"
#include "tests/gpu/kernel_set.h"

namespace edge_infer::test {

class GraphRun {
 public:
  // Passes and lowers the graph for the set's target and adds its kernels. Errors: those of passes and
  // lowering.
  static Result<GraphRun> make(KernelSet& kernels, const Graph& graph, DType precision);

  // Outputs of the graph; what each nest gives stays for the next. Errors: those of KernelSet::run().
  Result<std::vector<HostTensor>> run(std::span<const HostTensor> inputs, const TensorMap& constants) const;
  // The same, and each nest is compared with loop::evaluate of the same operands, within the bound of its
  // outputs. The last error says which nest differs.
  Result<std::vector<HostTensor>> run_compared(std::span<const HostTensor> inputs, const TensorMap& constants,
                                               double* error) const;

  size_t nests() const { return numbers_.size(); }
  const Graph& graph() const { return graph_; }

 private:
  Result<std::vector<HostTensor>> run(std::span<const HostTensor> inputs, const TensorMap& constants,
                                      bool compared, double* error) const;

  const KernelSet* kernels_ = nullptr;
  Graph graph_;  // after the passes
  loop::LoopProgram program_;
  std::vector<size_t> numbers_;  // of each nest of the program, in the set
};

}  // namespace edge_infer::test
