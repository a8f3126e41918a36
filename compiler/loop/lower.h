// lower(): a graph as a program of fused loop nests. Which ops share a nest follows from index maps and
// limits alone; no rule names a model or a sequence of ops. The same graph and options give the same text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/loop/loop_program.h"

namespace edge_infer::loop {

struct LowerOptions {
  // Whether the back end can compile the nest (CodeGenerator::accepts); the message is the reason that the
  // record of an un-fused edge gives. An op whose own nest is refused keeps its prebuilt kernel. Empty:
  // everything is accepted.
  std::function<Status(const LoopNest&)> accepts{};
  int64_t attention_block_rows = 32;
  // Class of products of operands of the type `half`, f16 or bf16 (CodeGenerator::accumulation_class); empty:
  // they keep prebuilt kernels.
  std::string half_class{};
  DType half = DType::kBF16;
  // f32 results that nests leave to each other lie in memory as `half`: rounded where they are stored,
  // widened where they are read. Inputs, outputs, constants, what prebuilt kernels touch and results of one
  // column (statistics of rows) stay as they are.
  bool narrow_temps = false;
  // Target::prebuilt_ops: these keep prebuilt kernels where they are more work than `least_prebuilt_work`
  // multiply-adds or elements at the hint sizes.
  std::vector<std::string> prebuilt_ops{};
  int64_t least_prebuilt_work = int64_t{1} << 16;
  bool fuse = true;                     // false: every op in a nest of its own
  int max_ops = 64;                     // scalar operations of a fused nest
  int max_buffers = 8;                  // of a fused nest, besides the operands of a gemm
  int max_values = 64;                  // of a fused nest
  int max_prologue_ops = 8;             // computed while a gemm reads its operand
  int64_t row_limit = 8192;             // elements of a row that is held in a Local
  int64_t least_split_elements = 4096;  // of values; with fewer, a nest may be one row
};

// Needs a verified graph; best after the pass merge_parallel_linears. Errors: kUnsupported for state inputs
// and for a copy that `accepts` refuses; kInternal where a nest that must exist cannot be made.
Result<LoopProgram> lower(const Graph& graph, const LowerOptions& options);

}  // namespace edge_infer::loop
