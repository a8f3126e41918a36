// Attention over packed sequences without tensor cores: operands of any floating type and any head dimension, arithmetic
// in `real`. Eight warps a CTA, ROWS query rows a warp; a lane holds one key of a block of 32 for the scores and every
// 32nd column for the results.
//
// Class f32.k1.kb32: scores are chains of fma over the dimension; keys go in blocks of 32 from the sequence's first row
// with a running maximum; a block's weights are added by halves, results are chains of fma over the keys. Rows never meet.
//
// The generator defines the numbers below and gives `attention` its operands; this file compiles alone.
#ifndef ATTENTION_DIM
typedef unsigned char u8;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef i32 offset_type;
typedef i32 unit_type;
typedef float q_type;
typedef float k_type;
typedef float v_type;
typedef float out_type;
typedef float real;
#define ATTENTION_DIM 64
#define ATTENTION_HEADS 12
#define ATTENTION_GROUP 1  // query heads of a kv head
#define ATTENTION_CAUSAL 0
#define ATTENTION_SCALE 0.125
#define ATTENTION_ROWS 8         // of a warp
#define ATTENTION_UNIT_ROWS 64   // of an item
#define ATTENTION_BEGIN (void)0  // or launch_dependents(), wait_for_producers()
#define ATTENTION_Q_ROW 2304
#define ATTENTION_Q_OFFSET 0
#define ATTENTION_K_ROW 2304
#define ATTENTION_K_OFFSET 768
#define ATTENTION_V_ROW 2304
#define ATTENTION_V_OFFSET 1536
#define ATTENTION_OUT_ROW 768
#define ATTENTION_OUT_OFFSET 0
__device__ __forceinline__ real load_q(const q_type* p, i64 i) {
  return p[i];
}
__device__ __forceinline__ real load_k(const k_type* p, i64 i) {
  return p[i];
}
__device__ __forceinline__ real load_v(const v_type* p, i64 i) {
  return p[i];
}
__device__ __forceinline__ void store(out_type* p, i64 i, real x) {
  p[i] = x;
}
#endif

#define UNROLL _Pragma("unroll")
#define DIM ATTENTION_DIM
#define ROWS ATTENTION_ROWS
#define WARPS 8
#define KEYS 32
#define PITCH (DIM + 1)  // of a key's row in shared memory: lanes fall into different banks
#define SLICES ((DIM + 31) / 32)

__device__ __forceinline__ void attention(const q_type* q, const k_type* k, const v_type* v, out_type* out,
                                          const offset_type* offsets, const unit_type* units, i64 count) {
  extern __shared__ __align__(16) char shared[];
  real* queries = (real*)shared;                    // [WARPS * ROWS][DIM]
  real* tile = queries + WARPS * ROWS * DIM;        // [KEYS][PITCH], keys, then values
  real* all_weights = tile + KEYS * PITCH;          // [WARPS][ROWS][KEYS]
  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  real* weights = all_weights + warp * ROWS * KEYS;
  const real none = -(real)__int_as_float(0x7f800000);
  ATTENTION_BEGIN;
  const i64 items = count * ATTENTION_HEADS;
  for (i64 item = blockIdx.x; item < items; item += gridDim.x) {
    // Head item mod HEADS of unit item / HEADS.
    const i64 unit = item / ATTENTION_HEADS, head = item - unit * ATTENTION_HEADS, kv_head = head / ATTENTION_GROUP;
    const i64 sequence = units[2 * unit], unit_first = units[2 * unit + 1];
    const i64 begin = offsets[sequence], rows = offsets[sequence + 1] - begin;
    const i64 unit_end = min((i64)(unit_first + ATTENTION_UNIT_ROWS), rows);
    for (i64 first = unit_first; first < unit_end; first += WARPS * ROWS) {
      __syncthreads();
      for (int e = thread; e < WARPS * ROWS * DIM; e += WARPS * 32) {
        const i64 row = min(first + e / DIM, rows - 1);
        queries[e] = load_q(q, (begin + row) * ATTENTION_Q_ROW + ATTENTION_Q_OFFSET + head * DIM + e % DIM) * (real)ATTENTION_SCALE;
      }
      real result[ROWS][SLICES], most[ROWS], sum[ROWS];
      UNROLL for (int r = 0; r < ROWS; r++) {
        most[r] = none, sum[r] = 0;
        UNROLL for (int s = 0; s < SLICES; s++) result[r][s] = 0;
      }
      const i64 own = first + warp * ROWS;  // this warp's first row
      const i64 keys = ATTENTION_CAUSAL ? min(rows, first + WARPS * ROWS) : rows;
      for (i64 block = 0; block < keys; block += KEYS) {
        // Rows past the sequence become zeros: they may hold anything, and 0 x NaN is NaN.
        __syncthreads();
        for (int e = thread; e < KEYS * DIM; e += WARPS * 32) {
          const i64 row = block + e / DIM;
          tile[e / DIM * PITCH + e % DIM] =
              row < rows ? load_k(k, (begin + row) * ATTENTION_K_ROW + ATTENTION_K_OFFSET + kv_head * DIM + e % DIM) : (real)0;
        }
        __syncthreads();
        real score[ROWS] = {};
        const real* mine = queries + warp * ROWS * DIM;
        _Pragma("unroll 4") for (int d = 0; d < DIM; d++) {
          const real key = tile[lane * PITCH + d];
          UNROLL for (int r = 0; r < ROWS; r++) score[r] = fma(mine[r * DIM + d], key, score[r]);
        }
        UNROLL for (int r = 0; r < ROWS; r++) {
          const i64 limit = ATTENTION_CAUSAL ? min(rows, own + r + 1) : rows;
          if (block + lane >= limit) score[r] = none;
          real top = score[r];
          UNROLL for (int s = 16; s > 0; s /= 2) top = fmax(top, __shfl_xor_sync(~0u, top, s));
          top = fmax(top, most[r]);
          const real factor = most[r] == none ? (real)0 : exp(most[r] - top);
          const real weight = score[r] == none ? (real)0 : exp(score[r] - top);
          most[r] = top;
          weights[r * KEYS + lane] = weight;
          real total = weight;
          UNROLL for (int s = 16; s > 0; s /= 2) total += __shfl_xor_sync(~0u, total, s);
          sum[r] = sum[r] * factor + total;
          UNROLL for (int s = 0; s < SLICES; s++) result[r][s] *= factor;
        }
        __syncthreads();
        for (int e = thread; e < KEYS * DIM; e += WARPS * 32) {
          const i64 row = block + e / DIM;
          tile[e / DIM * PITCH + e % DIM] =
              row < rows ? load_v(v, (begin + row) * ATTENTION_V_ROW + ATTENTION_V_OFFSET + kv_head * DIM + e % DIM) : (real)0;
        }
        __syncthreads();
        _Pragma("unroll 2") for (int key = 0; key < KEYS; key++)
          UNROLL for (int s = 0; s < SLICES; s++) {
            const int d = lane + s * 32;
            const real value = d < DIM ? tile[key * PITCH + d] : (real)0;
            UNROLL for (int r = 0; r < ROWS; r++) result[r][s] = fma(weights[r * KEYS + key], value, result[r][s]);
          }
      }
      UNROLL for (int r = 0; r < ROWS; r++) {
        if (own + r >= unit_end) continue;
        // Scores that are all -inf weigh nothing.
        const real scale = sum[r] == 0 ? (real)0 : 1 / sum[r];
        UNROLL for (int s = 0; s < SLICES; s++) {
          const int d = lane + s * 32;
          if (d < DIM)
            store(out, (begin + own + r) * ATTENTION_OUT_ROW + ATTENTION_OUT_OFFSET + head * DIM + d, result[r][s] * scale);
        }
      }
    }
  }
}
