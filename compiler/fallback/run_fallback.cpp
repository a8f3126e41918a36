#include "compiler/fallback/run_fallback.h"

#include <utility>

#include "compiler/fallback/lower_fallback.h"
#include "compiler/fallback/run_program.h"

namespace edge_infer {

Result<std::vector<HostTensor>> run_fallback(const Graph& graph, const Device& device,
                                             std::span<const HostTensor> inputs, const TensorMap& constants,
                                             int max_workers) {
  EDGE_INFER_ASSIGN(Program program, lower_fallback(graph, device.target()));
  return run_program(graph, std::move(program), device, inputs, constants, max_workers);
}

}  // namespace edge_infer
