// CudaLaunch and CudaImage: what the run-time half must know of a kernel to launch it, and how it travels
// with the machine code inside of KernelBlob::image.
//
// Kernel ABI: `extern "C" __global__ void k(const i64* n, <one pointer a buffer>, <one TMap a map>)`.
//   n        the call's integers (Call::integers, in the order of the nest's symbols), in device memory,
//            complete before the graph's first kernel behind the batch block starts: may be read before
//            griddepcontrol.wait
//   buffers  addresses in device memory, in the order of Call::buffers, 256-byte aligned
//   maps     `const __grid_constant__ TMap`, in the order of CudaLaunch::maps
// A kernel computes its whole domain, rows and columns read from `n` and the source's constants, with any
// grid: item i of the domain's tiles belongs to CTA (cluster) i mod gridDim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/program/kernel_blob.h"

namespace edge_infer::cuda {

// A tiled tensor map (cuTensorMapEncodeTiled, rank 2) over a buffer as rows of `columns` elements; its rows
// are those that the buffer has at the program's capacity.
struct TensorMap {
  int32_t buffer = 0;  // position among the kernel's buffers
  DType dtype = DType::kF16;
  int64_t columns = 0;
  int32_t box_columns = 0, box_rows = 0;  // elements
  int32_t swizzle_bytes = 128;            // 0, 32, 64 or 128
  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

struct CudaLaunch {
  int32_t threads = 128;      // of a CTA
  int32_t shared_bytes = 0;   // dynamic
  int32_t blocks_per_sm = 1;  // the grid is at most this times the SMs: CTAs that stay resident, or a few
                              // times as many, to even out what they do
  int32_t cluster = 1;        // CTAs along x; the grid is a multiple
  int64_t tile_rows = 1;      // one item: rows x columns of the call's domain
  int64_t tile_columns = 1;
  bool waits = true;  // executes griddepcontrol.wait before its first dependent access and before it writes:
                      // the edge to it may be programmatic
  std::vector<TensorMap> maps;
  friend bool operator==(const CudaLaunch&, const CudaLaunch&) = default;

  // One line, "threads=384 shared=197632 per_sm=1 cluster=1 tile=128x128 waits=1
  // map=0:f16:384:64x128:s128". The source's first line is "// launch " and this.
  std::string text() const;
  // Errors: kCorruption with found and expected, also for values that no device accepts.
  static Result<CudaLaunch> parse(std::string_view text);
  // Of a source whose first line is "// launch ...". Errors: kInvalidArgument.
  static Result<CudaLaunch> of_source(std::string_view source);
  // CTAs for a domain: all items, but at most blocks_per_sm an SM; at least one cluster.
  int64_t grid(int64_t rows, int64_t columns, int32_t multiprocessors) const;
};

struct CudaImage {
  CudaLaunch launch;
  int32_t registers = 0, spill_bytes = 0, static_shared_bytes = 0;  // as ptxas says, for people
  std::vector<std::byte> cubin;
  friend bool operator==(const CudaImage&, const CudaImage&) = default;

  // entry: the offset of the cubin; scratch_bytes: 0.
  KernelBlob to_blob() const;
  // Errors: kCorruption.
  static Result<CudaImage> parse(const KernelBlob& blob);
};

// A kernel's name in every cubin.
inline constexpr const char* kKernelSymbol = "k";

}  // namespace edge_infer::cuda
