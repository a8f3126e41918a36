#include "apps/cli/edge_opt_fallback.h"

#include "compiler/fallback/lower_fallback.h"
#include "compiler/fallback/run_fallback.h"
#include "runtime/base/cpu.h"
#include "runtime/device/registry.h"

namespace edge_infer {
namespace {

std::string_view or_best(std::string_view target) {
  return target.empty() ? "cpu" : target;
}

}  // namespace

bool is_target_name(std::string_view target) {
  return target.find('.') != std::string_view::npos && find_target(target).has_value();
}

Result<std::string> fallback_program_text(const Graph& graph, std::string_view target) {
  EDGE_INFER_ASSIGN(const Target facts, find_target(or_best(target)));
  EDGE_INFER_ASSIGN(const Program program, lower_fallback(graph, facts));
  return print_program(program);
}

Result<std::vector<HostTensor>> fallback_run(const Graph& graph, std::string_view target,
                                             const TensorMap& tensors) {
  EDGE_INFER_ASSIGN(const std::shared_ptr<const Device> device, open_device(or_best(target)));
  std::vector<HostTensor> inputs;
  for (const GraphInput& input : graph.inputs()) {
    const auto found = tensors.find(graph.value(input.value).name);
    if (found == tensors.end())
      return fail(ErrorCode::kNotFound, "input \"{}\" is not given", graph.value(input.value).name);
    inputs.push_back(found->second);
  }
  return run_fallback(graph, *device, inputs, tensors, worker_budget());
}

}  // namespace edge_infer
