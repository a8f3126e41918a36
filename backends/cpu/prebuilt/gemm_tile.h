// The register tile that linear, matmul and attention share: MR rows by P panels of kPanel columns.
//
// Every output element is one chain of fma over ascending k, begun from `begin` and ended by `end`, whatever
// tile it falls into and wherever k was split: that is class f32.k1, and it is why tiles of any height may
// serve any row.
#pragma once

#include "backends/cpu/prebuilt/vec.h"

namespace edge_infer::EDGE_ISA {

// Columns of a packed panel and most rows of a tile: kTileRows * kPanelParts accumulators, kPanelParts
// columns of B and one broadcast element fill the register file without spilling (objdump in
// docs/perf/prebuilt.md).
#if defined(__AVX512F__)
inline constexpr int kPanel = 32, kTileRows = 12;
#elif defined(__AVX2__)
inline constexpr int kPanel = 16, kTileRows = 6;
#elif defined(__aarch64__)
inline constexpr int kPanel = 16, kTileRows = 6;
#else
inline constexpr int kPanel = 16, kTileRows = 3;
#endif
inline constexpr int kPanelParts = kPanel / kPartLanes;

struct Tile {
  const float* a;  // MR rows, `lda` apart
  int64_t lda;
  const float* b;  // row k of the panel at b + k * ldb; further panels `panel_stride` apart
  int64_t ldb;
  int64_t panel_stride;
  int64_t depth;  // k
  float* c;       // element (0, 0) of the tile
  int64_t ldc;
  int64_t columns;  // valid columns of the tile: what is beyond is neither read nor written in c
};

EDGE_INLINE f32p splat_part(float x) {
  return x - f32p{};
}
EDGE_INLINE f32p load_part(const float* p) {
  return *reinterpret_cast<const f32pu*>(p);
}
EDGE_INLINE void store_part(float* p, f32p x) {
  *reinterpret_cast<f32pu*>(p) = x;
}
// The first n lanes; n <= 0: none, n >= kPartLanes: all.
EDGE_INLINE f32p load_part(const float* p, int64_t n) {
#if defined(__AVX512F__)
  const int64_t lanes = n < 0 ? 0 : n > 16 ? 16 : n;
  return (f32p)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << lanes) - 1), p);
#else
  if (n >= kPartLanes) return load_part(p);
  f32p r = {};
  for (int l = 0; l < kPartLanes; ++l)
    if (l < n) r[l] = p[l];
  return r;
#endif
}
EDGE_INLINE void store_part(float* p, f32p x, int64_t n) {
#if defined(__AVX512F__)
  const int64_t lanes = n < 0 ? 0 : n > 16 ? 16 : n;
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << lanes) - 1), (__m512)x);
#else
  if (n >= kPartLanes) return store_part(p, x);
  for (int l = 0; l < kPartLanes; ++l)
    if (l < n) p[l] = x[l];
#endif
}

// Begin(row, pointer into c, valid lanes) -> f32p and End(row, column, value) -> f32p are called once an
// accumulator.
template <int MR, int P, bool kPrefetch, class Begin, class End>
EDGE_INLINE void run_tile(const Tile& t, Begin begin, End end) {
  constexpr int kWide = P * kPanelParts;
  constexpr int64_t kAhead = 32;  // rows of b, enough to cover the latency of L3
  f32p acc[MR][kWide];
  // The stores come a whole sweep over k later: their lines are fetched meanwhile.
  if constexpr (kPrefetch)
    for (int i = 0; i < MR; ++i)
      for (int j = 0; j < P * kPanel; j += 16) __builtin_prefetch(t.c + i * t.ldc + j, 1);
  EDGE_UNROLL for (int i = 0; i < MR; ++i) EDGE_UNROLL for (int j = 0; j < kWide; ++j) acc[i][j] =
      begin(i, t.c + i * t.ldc + j * kPartLanes, t.columns - j * kPartLanes);
  const float* a = t.a;
  const float* b = t.b;
  const int64_t lda = t.lda, ldb = t.ldb, panel_stride = t.panel_stride, depth = t.depth;
  EDGE_ROLLED for (int64_t k = 0; k < depth; ++k) {
    f32p row[kWide];
    EDGE_UNROLL for (int p = 0; p < P; ++p) EDGE_UNROLL for (int j = 0; j < kPanelParts; ++j) {
      row[p * kPanelParts + j] = load_part(b + p * panel_stride + j * kPartLanes);
      if constexpr (kPrefetch) {
        if (j * kPartLanes % 16 == 0)
          __builtin_prefetch(b + p * panel_stride + kAhead * kPanel + j * kPartLanes);
      }
    }
    EDGE_UNROLL for (int i = 0; i < MR; ++i) {
      const f32p x = splat_part(a[i * lda]);
      EDGE_UNROLL for (int j = 0; j < kWide; ++j) acc[i][j] = fma_part(x, row[j], acc[i][j]);
    }
    ++a;
    b += ldb;
  }
  const bool whole = t.columns >= P * kPanel;
  EDGE_UNROLL for (int i = 0; i < MR; ++i) EDGE_UNROLL for (int j = 0; j < kWide; ++j) {
    const f32p value = end(i, j * kPartLanes, acc[i][j]);
    float* c = t.c + i * t.ldc + j * kPartLanes;
    if (whole)
      store_part(c, value);
    else
      store_part(c, value, t.columns - j * kPartLanes);
  }
}

// Calls f(first row, rows) for tiles of at most kTileRows that differ by at most one row: small tiles cannot
// hide the latency of fma, so no tile is left much smaller than the others.
template <class F>
EDGE_INLINE void for_row_tiles(int64_t rows, F f) {
  int64_t tiles = (rows + kTileRows - 1) / kTileRows;
  for (int64_t m = 0; m < rows; --tiles) {
    const int64_t count = (rows - m + tiles - 1) / tiles;
    f(m, count);
    m += count;
  }
}

// Calls f.template operator()<MR>() with MR = rows, a constant.
template <class F>
EDGE_INLINE void with_rows(int64_t rows, F f) {
  switch (rows) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
#if !defined(__AVX2__) && !defined(__aarch64__)
    default:
      break;
#else
    case 4:
      return f.template operator()<4>();
    case 5:
      return f.template operator()<5>();
    case 6:
      return f.template operator()<6>();
#if defined(__AVX512F__)
    case 7:
      return f.template operator()<7>();
    case 8:
      return f.template operator()<8>();
    case 9:
      return f.template operator()<9>();
    case 10:
      return f.template operator()<10>();
    case 11:
      return f.template operator()<11>();
    case 12:
      return f.template operator()<12>();
#endif
    default:
      break;
#endif
  }
}

}  // namespace edge_infer::EDGE_ISA
