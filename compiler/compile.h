// compile(): the data path from a captured graph to a program of fused kernels, in order: passes, lowering
// and fusion, source text, keys, program. Machine code is the caller's next step (KernelCache,
// KernelCompiler).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/codegen/code_generator.h"
#include "compiler/graph/graph.h"
#include "compiler/loop/loop_program.h"
#include "compiler/passes/passes.h"
#include "runtime/device/device.h"
#include "runtime/program/kernel_key.h"
#include "runtime/program/program.h"

namespace edge_infer {

struct CompileOptions {
  PipelineOptions passes{};       // `passes.passes` empty: the compile pipeline
  bool fuse = true;               // false: each graph op a kernel of its own
  DType precision = DType::kF32;  // kF16, kBF16: linears round their operands to it
  // The schedule of a nest in the form for a row class (CompiledGraph::rows); empty: the generator's own.
  std::function<Schedule(const loop::LoopNest&, int64_t rows)> schedule{};
};

// One distinct kernel of a compiled graph.
struct KernelPlan {
  KernelKey key;
  std::string name;  // KernelRef::name, "kernel:<key id>"
  GeneratedKernel generated;
  loop::LoopNest nest;
  Schedule schedule;
};

// Source and key of one nest. Errors: as CodeGenerator::generate().
Result<KernelPlan> plan_kernel(const loop::LoopNest& nest, const Schedule& schedule,
                               const CodeGenerator& generator, const KernelCompiler& compiler);

struct CompiledGraph {
  Graph graph;  // after the passes
  // Fused, once for each of the generator's row classes; then, where there is one, for few rows a worker.
  std::vector<loop::LoopProgram> forms;
  std::vector<SymInt> when;                       // when each form runs
  std::vector<int64_t> rows;                      // most rows of each form's class; 0: it has none
  std::vector<std::vector<size_t>> form_kernels;  // of each form, for each of its nests: which of `kernels`
  std::vector<KernelPlan> kernels;                // distinct, in order of first use
  Program program;
  std::vector<PassReport> passes;
};

// Needs a verified graph. Deterministic: equal graphs, targets, options and generators give equal results.
// Errors: kUnsupported naming the node that neither a kernel nor a prebuilt step serves.
Result<CompiledGraph> compile(const Graph& graph, const Target& target, const CodeGenerator& generator,
                              const KernelCompiler& compiler, const CompileOptions& options);

}  // namespace edge_infer
