// The source of one kernel: prelude, slots and template where there is one, and the function `k`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cpu/templates/gemm_schedule.h"
#include "compiler/loop/loop_nest.h"
#include "runtime/base/error.h"

namespace edge_infer::cpu_codegen {

struct KernelText {
  std::string source;
  int64_t scratch_bytes = 0;
};

// Statements of a row before, of, and behind its gemm.
struct GemmParts {
  std::vector<const loop::Stmt*> before, after;
  const loop::Gemm* gemm = nullptr;  // nullptr: there is none
};
GemmParts gemm_parts(const loop::LoopNest& nest);
const loop::Attention* attention_of(const loop::LoopNest& nest);

// Whether the operands of the nest's gemm are bf16.
bool is_bf16(const loop::LoopNest& nest, const loop::Gemm& gemm);
// Whether A's rows are read where they are: a buffer or a local, dense along k, rows at one distance.
bool has_plain_rows(const loop::LoopNest& nest, const loop::Gemm& gemm);
// Index of A's element k = 0 in row m.
SymInt row_start(const loop::LoopNest& nest, const loop::Gemm& gemm);
// The problem that schedules are chosen for.
GemmProblem gemm_problem(const loop::LoopNest& nest, int panel, bool fused_multiply_add,
                         GemmClass bf16_class);

// Elements of a local at the greatest sizes, rounded up to whole vectors; less than 0 where they have no
// bound.
int64_t local_elements(const loop::LoopNest& nest, const loop::Local& local);

// How a nest without template is run: sixteen rows in one vector; columns cut as the executor likes.
bool work_in_lanes(const loop::LoopNest& nest);
bool splits_columns(const loop::LoopNest& nest);

// The nest must be one that check_supported() takes.
KernelText plain_kernel(const loop::LoopNest& nest);
KernelText gemm_kernel(const loop::LoopNest& nest, const GemmProblem& problem, const GemmSchedule& schedule);
KernelText attention_kernel(const loop::LoopNest& nest);

}  // namespace edge_infer::cpu_codegen
