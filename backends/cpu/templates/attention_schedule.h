// What a caller of attention.c has to know about it.
#pragma once

#include <cstdint>

namespace edge_infer {

// Scratch of the kernel for heads of `dim` elements, a multiple of 64.
int64_t attention_scratch_bytes(int64_t dim);

}  // namespace edge_infer
