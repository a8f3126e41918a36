#include "apps/cli/edge_opt_compiled.h"

#include <utility>

#include "compiler/codegen/registry.h"
#include "compiler/compile.h"
#include "compiler/fallback/run_program.h"
#include "compiler/loop/evaluate.h"
#include "compiler/loop/print.h"
#include "compiler/obtain_kernels.h"
#include "runtime/base/cpu.h"
#include "runtime/device/registry.h"

namespace edge_infer {
namespace {

struct Compiled {
  Target target;
  TargetCompiler compiler;
  CompiledGraph graph;
};

Result<Compiled> compile_for(const Graph& graph, const CompileFor& where) {
  Compiled c;
  EDGE_INFER_ASSIGN(c.target, find_target(where.target.empty() ? "cpu" : where.target));
  EDGE_INFER_ASSIGN(c.compiler, open_compiler(c.target.name));
  CompileOptions options;
  options.precision = where.precision;
  options.passes.passes.emplace();  // none: edge-opt has run those that were asked for
  EDGE_INFER_ASSIGN(c.graph, compile(graph, c.target, *c.compiler.generator, *c.compiler.compiler, options));
  return c;
}

Result<std::vector<HostTensor>> graph_inputs(const Graph& graph, const TensorMap& tensors) {
  std::vector<HostTensor> inputs;
  for (const GraphInput& input : graph.inputs()) {
    const auto found = tensors.find(graph.value(input.value).name);
    if (found == tensors.end())
      return fail(ErrorCode::kNotFound, "input \"{}\" is not given", graph.value(input.value).name);
    inputs.push_back(found->second);
  }
  return inputs;
}

}  // namespace

Result<std::string> compiled_text(const Graph& graph, const CompileFor& where, std::string_view what) {
  EDGE_INFER_ASSIGN(const Compiled c, compile_for(graph, where));
  if (what == "program") return print_program(c.graph.program);
  std::string text;
  if (what == "loops")
    for (const loop::LoopProgram& form : c.graph.forms) text += loop::print_loops(form, c.graph.graph) + "\n";
  else
    for (const KernelPlan& kernel : c.graph.kernels)
      text += fmt::format("// nest @{}\n{}\n", kernel.nest.name, kernel.generated.source.source);
  return text;
}

Result<std::vector<HostTensor>> loops_run(const Graph& graph, const CompileFor& where,
                                          const TensorMap& tensors) {
  EDGE_INFER_ASSIGN(const Compiled c, compile_for(graph, where));
  EDGE_INFER_ASSIGN(const std::vector<HostTensor> inputs, graph_inputs(c.graph.graph, tensors));
  return loop::evaluate(c.graph.forms.front(), c.graph.graph, inputs, tensors);
}

Result<std::vector<HostTensor>> compiled_run(const Graph& graph, const CompileFor& where,
                                             const TensorMap& tensors) {
  EDGE_INFER_ASSIGN(const std::shared_ptr<const Device> device,
                    open_device(where.target.empty() ? "cpu" : where.target));
  EDGE_INFER_ASSIGN(Compiled c, compile_for(graph, {device->target().name, where.precision}));
  EDGE_INFER_ASSIGN(const std::vector<HostTensor> inputs, graph_inputs(c.graph.graph, tensors));
  if (const auto obtained = obtain_kernels(c.graph.kernels, *device, *c.compiler.compiler, nullptr, {});
      !obtained)
    return std::unexpected(obtained.error());
  return run_program(c.graph.graph, std::move(c.graph.program), *device, inputs, tensors, worker_budget());
}

}  // namespace edge_infer
