// What the GEMM templates read of a nest: the product, where its operands lie, and what surrounds it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/loop/loop_nest.h"
#include "runtime/base/error.h"

namespace edge_infer::cuda {

// offset + row * m + column * n, where an index is that.
struct RowMajor {
  int64_t row = 0, column = 0, offset = 0;
};
// `index` over the work axis and `column`; nullopt where other names occur or it is not affine.
std::optional<RowMajor> row_major(const loop::LoopNest& nest, const SymInt& index, loop::AxisId column);

struct GemmNest {
  const loop::Gemm* gemm = nullptr;
  SymInt rows;           // extent of the work axis
  int64_t n = 0, k = 0;  // columns of the result, terms of a sum
  DType dtype = DType::kF16;
  int32_t a = -1;                        // buffer
  int64_t a_row = 0, a_offset = 0;       // A[m, k] is its element a_offset + a_row * m + k
  std::vector<const loop::Let*> before;  // of a row
  std::vector<const loop::Stmt*> after;  // the row slot
  // Whether all rows of A and W begin at a multiple of 16 bytes and are a multiple of that long.
  bool whole_pieces() const { return k % 8 == 0 && a_row % 8 == 0 && a_offset % 8 == 0; }
  // Whether boxes of 64 columns hold nothing of A but its own columns (and zeros beyond the buffer's).
  bool whole_boxes() const { return whole_pieces() && (k % 64 == 0 || a_offset + k == a_row); }
};

// Errors: kUnsupported with the reason why no template serves the nest, "slot refused: ..." or "class ...".
Result<GemmNest> gemm_nest(const loop::LoopNest& nest);

}  // namespace edge_infer::cuda
