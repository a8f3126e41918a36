// aten.matmul.f32: out[b, M, N] = a[b, M, K] b[b, K, N], operands read through strides, out dense. Rows are
// (batch, m). Every element is one chain of fma over ascending k. Each panel of b, 256 deep, is copied into
// scratch; where a's columns are strided, each tile's rows are too.
#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/gemm_tile.h"
#include "backends/cpu/prebuilt/registry.h"
#include "backends/cpu/prebuilt/tables.h"
#include "backends/cpu/prebuilt/transpose.h"

namespace edge_infer::EDGE_ISA {
namespace {

constexpr int64_t kDepth = 256;

struct Scratch {
  float panel[kDepth * kPanel];
  float rows[kTileRows * kDepth];
};

template <int MR>
EDGE_NOINLINE void matmul_tile(const Tile& tile, bool resume) {
  run_tile<MR, 1, false>(
      tile,
      [resume](int, const float* c, int64_t lanes)
          __attribute__((always_inline)) { return resume ? load_part(c, lanes) : f32p{}; },
      [](int, int, f32p value) __attribute__((always_inline)) { return value; });
}

// Rows k of columns [0, columns) of b as [depth][kPanel], zero beyond.
EDGE_NOINLINE void pack_panel(const float* b, int64_t row_stride, int64_t column_stride, int64_t depth,
                              int64_t columns, float* out) {
  if (column_stride == 1) {
    for (int64_t k = 0; k < depth; ++k)
      EDGE_UNROLL for (int j = 0; j < kPanelParts; ++j)
          store_part(out + k * kPanel + j * kPartLanes,
                     load_part(b + k * row_stride + j * kPartLanes, columns - j * kPartLanes));
    return;
  }
  if (columns < kPanel)
    for (int64_t i = 0; i < depth * kPanel; ++i) out[i] = 0.0F;
  if (row_stride == 1) {
    transpose(b, column_stride, columns, depth, out, kPanel);
    return;
  }
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t n = 0; n < columns; ++n) out[k * kPanel + n] = b[k * row_stride + n * column_stride];
}

void matmul(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void* scratch) {
  auto* s = static_cast<Scratch*>(scratch);
  float* out = output<float>(args, 0);
  const float* a = input<float>(args, 1);
  const float* b = input<float>(args, 2);
  const int64_t rank = integer(args, 0);
  const int64_t* sizes = args->integers + 1;
  const int64_t* a_strides = sizes + rank;
  const int64_t* b_strides = a_strides + rank;
  const int64_t* tail = b_strides + rank;
  const int64_t rows_all = tail[0], columns_all = tail[1], k_all = tail[2];
  const int64_t a_row = tail[3], a_column = tail[4], b_row = tail[5], b_column = tail[6];
  for (int64_t m = m0; m < m1;) {
    const int64_t batch = m / rows_all, first = m % rows_all, rows = smaller(rows_all - first, m1 - m);
    int64_t a_offset = first * a_row, b_offset = 0, rest = batch;
    for (int64_t d = rank - 1; d >= 0; --d) {
      a_offset += rest % sizes[d] * a_strides[d];
      b_offset += rest % sizes[d] * b_strides[d];
      rest /= sizes[d];
    }
    for (int64_t n = 0; n < columns_all; n += kPanel) {
      const int64_t columns = columns_all - n;
      for (int64_t k0 = 0; k0 == 0 || k0 < k_all; k0 += kDepth) {
        const int64_t depth = smaller(kDepth, k_all - k0);
        pack_panel(b + b_offset + k0 * b_row + n * b_column, b_row, b_column, depth,
                   smaller<int64_t>(columns, kPanel), s->panel);
        for_row_tiles(rows, [&](int64_t r, int64_t height) __attribute__((always_inline)) {
          const float* tile_rows = a + a_offset + r * a_row + k0 * a_column;
          int64_t lda = a_row;
          if (a_column != 1) {
            for (int64_t i = 0; i < height; ++i)
              for (int64_t k = 0; k < depth; ++k)
                s->rows[i * kDepth + k] = tile_rows[i * a_row + k * a_column];
            tile_rows = s->rows;
            lda = kDepth;
          }
          const Tile tile = {tile_rows,   lda,    s->panel, kPanel, 0, depth, out + (m + r) * columns_all + n,
                             columns_all, columns};
          with_rows(height, [&]<int MR>() __attribute__((always_inline)) { matmul_tile<MR>(tile, k0 != 0); });
        });
      }
    }
    m += rows;
  }
}

constexpr PrebuiltKernel kTable[] = {{"aten.matmul.f32", matmul, sizeof(Scratch)}};

}  // namespace

std::span<const PrebuiltKernel> matmul_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
