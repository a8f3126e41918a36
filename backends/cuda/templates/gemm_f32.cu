// D[m, n] = sum over ascending k of a(m, k) * w[n, k] in f32: one chain of fma an element (class f32.k1), on
// plain cores. A CTA of 256 threads computes tiles of 64 x 64, 4 x 4 elements a thread; k goes through shared
// memory in blocks of 16. Any number of rows; columns and k are constants of any size.
// In front of this text: GEMM_N, GEMM_K, GEMM_ROWS (rows of the call, from Ctx c), struct Ctx and the slots
//   float gemm_a(const Ctx& c, i64 m, i64 k)                        called for m < rows, k < GEMM_K alone
//   void gemm_epilogue(const Ctx& c, i64 m, i64 n, float acc)       once for each element
//   const float* gemm_weight(const Ctx& c)                          [GEMM_N][GEMM_K]
inline void gemm(const Ctx& c) {
  __shared__ float a_block[16][64 + 4];
  __shared__ float w_block[16][64 + 4];
  const i64 rows = GEMM_ROWS;
  const i64 row_tiles = (rows + 63) / 64, column_tiles = (GEMM_N + 63) / 64;
  const float* const w = gemm_weight(c);
  const i32 k_lane = threadIdx.x % 16, line = threadIdx.x / 16;
  for (i64 tile = blockIdx.x; tile < row_tiles * column_tiles; tile += gridDim.x) {
    const i64 m0 = tile / column_tiles * 64, n0 = tile % column_tiles * 64;
    float acc[4][4];
#pragma unroll
    for (i32 i = 0; i < 16; ++i) acc[i / 4][i % 4] = 0.0f;
    for (i64 k0 = 0; k0 < GEMM_K; k0 += 16) {
      const i64 k = k0 + k_lane;
#pragma unroll
      for (i32 i = 0; i < 4; ++i) {
        const i64 m = m0 + line + 16 * i, n = n0 + line + 16 * i;
        a_block[k_lane][line + 16 * i] = m < rows && k < GEMM_K ? gemm_a(c, m, k) : 0.0f;
        w_block[k_lane][line + 16 * i] = n < GEMM_N && k < GEMM_K ? w[n * GEMM_K + k] : 0.0f;
      }
      __syncthreads();
      const i64 left = GEMM_K - k0;
      const i32 depth = left < 16 ? (i32)left : 16;
      for (i32 d = 0; d < depth; ++d) {
        float x[4], y[4];
#pragma unroll
        for (i32 i = 0; i < 4; ++i) {
          x[i] = a_block[d][line * 4 + i];
          y[i] = w_block[d][k_lane * 4 + i];
        }
#pragma unroll
        for (i32 i = 0; i < 16; ++i) acc[i / 4][i % 4] = fmaf(x[i / 4], y[i % 4], acc[i / 4][i % 4]);
      }
      __syncthreads();
    }
#pragma unroll
    for (i32 i = 0; i < 16; ++i) {
      const i64 m = m0 + line * 4 + i / 4, n = n0 + k_lane * 4 + i % 4;
      if (m < rows && n < GEMM_N) gemm_epilogue(c, m, n, acc[i / 4][i % 4]);
    }
  }
}
