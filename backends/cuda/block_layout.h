// BlockLayout: where a call's block has its parts. The same offsets hold in pinned host memory, where the
// call writes them, and in device memory, where the kernels read them; behind the block lie the outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/cuda/plan.h"

namespace edge_infer::cuda {

struct BlockLayout {
  struct Output {
    size_t offset = 0;
    // The kernel stores into pinned host memory; else the output is copied behind the last kernel.
    bool direct = false;
  };
  size_t integers = 0;  // i64, of all calls
  std::vector<size_t> unit_lists, inputs;
  size_t block_bytes = 0;  // what is copied before the first kernel
  std::vector<Output> outputs;
  size_t bytes = 0;  // with the outputs

  // For the largest sizes of a class, as CudaPlan::sizes_at gives them. Parts are 256-byte aligned.
  static BlockLayout of(const CudaPlan& plan, std::span<const int64_t> sizes);
};

}  // namespace edge_infer::cuda
