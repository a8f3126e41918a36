// The epilogue slot of the GEMM templates (gemm_epilogue.cu) as text: what happens to the sums of a pair of
// columns in two rows, and which of the nest's accesses go through shared memory.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/launch.h"
#include "backends/cuda/templates/gemm_nest.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer::cuda {

struct GemmEpilogue {
  int tile_loads = 0, tile_stores = 0;  // operands and results that are staged
  int column_loads = 0;                 // operands of columns that are
  // What is staged is all results, each columns within the rows of its buffer, and no operands.
  bool results_only = false;
  // Of staged results, where they leave in bulk: their maps, as parameters of k() from map2 on.
  std::vector<TensorMap> maps;
  // struct Slots, column_operand(), tile_operand(), tile_result(), result_map(), result_column() and
  // epilogue(), which call functions of gemm_functions.cu.
  std::string text;
  std::string slots;        // `{b2, b3, s0}`: what k() makes Slots of
  int warp_blocks() const;  // kWarpBlocks of gemm_epilogue.cu; twice as many where results leave in bulk
};

// Whether the statements of the gemm's body fit the slot. Errors: kUnsupported, "slot refused: ...".
Status accepts_epilogue(const loop::LoopNest& nest, const GemmNest& product);
// `tile_columns`: of the schedule; pads are guarded against only where N is no multiple of it.
// stages_columns: whether the template asks for column operands ahead; in_bulk: whether staged results leave
// by the copy engine.
GemmEpilogue gemm_epilogue(const loop::LoopNest& nest, const GemmNest& product, int tile_columns,
                           bool stages_columns, bool in_bulk);

}  // namespace edge_infer::cuda
