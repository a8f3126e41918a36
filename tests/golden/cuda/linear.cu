// launch threads=256 shared=0 per_sm=4 cluster=1 tile=64x64 waits=1
// Prelude of generated kernels: header-free types, and what the kernel below uses.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;"); }

inline void wait_for_producers() { asm volatile("griddepcontrol.wait;" ::: "memory"); }


struct Ctx {
  const i64* n;
  const float* b0;
  const float* b1;
  const float* b2;
  const float* b3;
  float* b4;
};
inline i64 gemm_rows(const Ctx& c) {
  const i64 s0 = c.n[0];
  return s0;
}
#define GEMM_N 70ll
#define GEMM_K 50ll
#define GEMM_ROWS gemm_rows(c)
inline const float* gemm_weight(const Ctx& c) { return c.b1; }
inline float gemm_a(const Ctx& c, i64 m, i64 i2) {
  const auto b0 = c.b0;
  return b0[i2 + 50 * m];
}
inline void gemm_epilogue(const Ctx& c, i64 m, i64 i1, float v0) {
  const auto b2 = c.b2;
  const auto b3 = c.b3;
  const auto b4 = c.b4;
  const float v1 = v0 + b2[i1];
  b4[70 * m + i1] = tanhf(v1) + b3[70 * m + i1];
}
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
extern "C" __global__ void __launch_bounds__(256) k(const i64* n, const float* b0, const float* b1, const float* b2, const float* b3, float* b4) {
  launch_dependents();
  wait_for_producers();
  gemm(Ctx{n, b0, b1, b2, b3, b4});
}
