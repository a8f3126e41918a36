// From lowered loops to a runtime Program: phases, buffer plan, constants, kernel references.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/code_generator.h"
#include "compiler/graph/graph.h"
#include "compiler/loop/loop_program.h"
#include "runtime/device/device.h"
#include "runtime/program/program.h"

namespace edge_infer {

// One lowered form of a graph: `when` says in which calls it runs (over the program's symbols and `workers`).
struct ProgramForm {
  const loop::LoopProgram* loops = nullptr;
  SymInt when = 1;
  struct Kernel {
    std::string name;  // KernelRef::name
    GeneratedKernel generated;
  };
  std::vector<Kernel> kernels;  // one a nest of loops
  // Products whose kernels can be split along their columns get a phase of their own, where all workers share
  // the columns; else they join the phase of what they read, where each worker keeps its rows.
  bool splits_columns = false;
  // Of packed constants of f32, f16 and bf16, CodeGenerator::packed_format().
  std::string packed_format, packed_f16_format{}, packed_bf16_format{};
};

// A program whose phases are those of all forms, each form's under its condition; exactly one condition holds
// in every call. Consecutive steps share a phase when each reads only its own rows of what the phase has
// written. Constants are declared once. Errors: kUnsupported for what a prebuilt step lacks, kInternal.
Result<Program> build_program(const Graph& graph, const Target& target, std::span<const ProgramForm> forms);

}  // namespace edge_infer
