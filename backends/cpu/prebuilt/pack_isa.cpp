// edge.pack_linear.f32, edge.unpack_linear.f32: a row-major [N, K] weight to and from the panels that
// linear_isa.cpp reads. Not called by programs: CpuDevice::pack uses the first when a model is loaded, tests
// use the second.
#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/gemm_tile.h"
#include "backends/cpu/prebuilt/registry.h"
#include "backends/cpu/prebuilt/tables.h"
#include "backends/cpu/prebuilt/transpose.h"

namespace edge_infer::EDGE_ISA {
namespace {

// buffers: packed, source rows; integers: k, packed row of the first source row; m0..m1: source rows.
// Pad columns of the last panel are the caller's to clear.
void pack_linear(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  float* packed = output<float>(args, 0);
  const float* source = input<float>(args, 1);
  const int64_t k = integer(args, 0), first = integer(args, 1);
  for (int64_t row = m0; row < m1;) {
    const int64_t column = (first + row) % kPanel;
    const int64_t count = smaller(kPanel - column, m1 - row);
    float* panel = packed + (first + row - column) * k;
    transpose(source + row * k, k, count, k, panel + column, kPanel);
    row += count;
  }
}

// buffers: rows [N, K], packed; integers: k, panel width is the set's; m0..m1: rows.
void unpack_linear(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  float* rows = output<float>(args, 0);
  const float* packed = input<float>(args, 1);
  const int64_t k = integer(args, 0);
  for (int64_t row = m0; row < m1; ++row)
    for (int64_t i = 0; i < k; ++i)
      rows[row * k + i] = packed[row / kPanel * kPanel * k + i * kPanel + row % kPanel];
}

constexpr PrebuiltKernel kTable[] = {
    {"edge.pack_linear.f32", pack_linear},
    {"edge.unpack_linear.f32", unpack_linear},
};

}  // namespace

std::span<const PrebuiltKernel> pack_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
