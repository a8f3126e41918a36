// Attention nests for tests of the CUDA templates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/loop/loop_nest.h"

namespace edge_infer::test {

struct AttentionShape {
  int64_t dim = 64, heads = 2, kv_heads = 2;
  DType dtype = DType::kF16, out = DType::kF16;
  bool causal = false;
  bool packed = true;  // q, k and v in one buffer, else in three
  int64_t block_rows = 64;
  DType offsets = DType::kI32;
  double scale = 0;  // 0: dim^-0.5
  std::string label() const;
};

// Symbols T, B, U; buffers: q (k, v), offsets [B + 1], units [U, 2], out [T, heads * dim].
loop::LoopNest attention_nest(const AttentionShape& shape);

// Shapes that reach every template: head dims, types, masks, grouped heads, layouts.
std::vector<AttentionShape> attention_shapes();

}  // namespace edge_infer::test
