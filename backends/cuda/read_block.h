// The kernel that begins a replay: it reads the call's block (integers, work units, inputs) from pinned host
// memory into device memory. On an H200 this takes about 1 us where a copy node of 16 KB takes 9
// (gpu_measured.md §4).
#pragma once

#include "backends/cuda/kernels.h"

namespace edge_infer::cuda {

// k(from, to, chunks): copies `chunks` chunks of 16 bytes with any grid.
inline constexpr const char* kReadBlockName = "prebuilt:cuda.read_block";

// Code loaded under kReadBlockName, else the driver's translation of PTX. Null where the driver translates
// none: the block is then copied by the stream.
const CudaKernel* read_block_kernel(const CudaDevice& device);

// CTAs for a block: enough reads in flight for the bus, few enough to start at once.
unsigned read_block_grid(size_t chunks, const CudaLaunch& launch);

}  // namespace edge_infer::cuda
