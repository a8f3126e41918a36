// Transposes of small f32 blocks through registers: what packing weights and keys needs.
#pragma once

#include "backends/cpu/prebuilt/vec.h"

namespace edge_infer::EDGE_ISA {

// dst[c * dst_stride + r] = src[r * src_stride + c] for a block of kBlock x kBlock.
inline constexpr int kTransposeBlock = kPartLanes;

EDGE_INLINE void transpose_block(const float* src, int64_t src_stride, float* dst, int64_t dst_stride) {
  f32p r[kPartLanes];
  EDGE_UNROLL for (int i = 0; i < kPartLanes; ++i) r[i] =
      *reinterpret_cast<const f32pu*>(src + i * src_stride);
#if defined(__AVX2__) && !defined(__AVX512F__)
  f32p t[8];
  EDGE_UNROLL for (int i = 0; i < 4; ++i) {
    t[2 * i] = (f32p)_mm256_unpacklo_ps((__m256)r[2 * i], (__m256)r[2 * i + 1]);
    t[2 * i + 1] = (f32p)_mm256_unpackhi_ps((__m256)r[2 * i], (__m256)r[2 * i + 1]);
  }
  EDGE_UNROLL for (int i = 0; i < 2; ++i) {
    const __m256 a = (__m256)t[4 * i], b = (__m256)t[4 * i + 1], c = (__m256)t[4 * i + 2],
                 d = (__m256)t[4 * i + 3];
    r[4 * i] = (f32p)_mm256_shuffle_ps(a, c, 0x44);
    r[4 * i + 1] = (f32p)_mm256_shuffle_ps(a, c, 0xee);
    r[4 * i + 2] = (f32p)_mm256_shuffle_ps(b, d, 0x44);
    r[4 * i + 3] = (f32p)_mm256_shuffle_ps(b, d, 0xee);
  }
  EDGE_UNROLL for (int i = 0; i < 4; ++i) {
    t[i] = (f32p)_mm256_permute2f128_ps((__m256)r[i], (__m256)r[i + 4], 0x20);
    t[i + 4] = (f32p)_mm256_permute2f128_ps((__m256)r[i], (__m256)r[i + 4], 0x31);
  }
  EDGE_UNROLL for (int i = 0; i < 8; ++i) r[i] = t[i];
#else
  // log2(n) rounds of interleaving row i with row i + n/2 transpose an n x n block.
  EDGE_UNROLL for (int round = 1; round < kPartLanes; round *= 2) {
    f32p t[kPartLanes];
    EDGE_UNROLL for (int i = 0; i < kPartLanes / 2; ++i) {
      const f32p a = r[i], b = r[i + kPartLanes / 2];
#if defined(__AVX512F__)
      t[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      t[2 * i + 1] =
          __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#else
      t[2 * i] = __builtin_shufflevector(a, b, 0, 4, 1, 5);
      t[2 * i + 1] = __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
    }
    EDGE_UNROLL for (int i = 0; i < kPartLanes; ++i) r[i] = t[i];
  }
#endif
  EDGE_UNROLL for (int i = 0; i < kPartLanes; ++i) * reinterpret_cast<f32pu*>(dst + i * dst_stride) = r[i];
}

// dst[c * dst_stride + r] = src[r * src_stride + c], any size. `src` rows are read `columns` long, no
// further.
EDGE_INLINE void transpose(const float* src, int64_t src_stride, int64_t rows, int64_t columns, float* dst,
                           int64_t dst_stride) {
  int64_t r = 0;
  for (; r + kTransposeBlock <= rows; r += kTransposeBlock) {
    int64_t c = 0;
    for (; c + kTransposeBlock <= columns; c += kTransposeBlock)
      transpose_block(src + r * src_stride + c, src_stride, dst + c * dst_stride + r, dst_stride);
    for (; c < columns; ++c)
      for (int64_t i = r; i < r + kTransposeBlock; ++i) dst[c * dst_stride + i] = src[i * src_stride + c];
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) dst[c * dst_stride + r] = src[r * src_stride + c];
}

}  // namespace edge_infer::EDGE_ISA
