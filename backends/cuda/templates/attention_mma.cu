// Attention over packed sequences on mma.sync (sm_80 and newer): four warps of 16 query rows a CTA, 64 rows an item, key
// blocks of 64 counted from the sequence's first row. Keys and values are double-buffered by cp.async, which fills rows
// past the sequence with zeros, so that nothing of what lies there is read.
//
// Class mma.k16.kb64: scores, results and sums of weights are m16n8k16 products in ascending k; a warp's rows take a new
// maximum only when a score exceeds the old one by 2^8 (exact: the factor cancels).
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
typedef u16 out_type;
#define ATTENTION_DIM 64
#define ATTENTION_HEADS 12
#define ATTENTION_GROUP 1  // query heads of a kv head
#define ATTENTION_CAUSAL 0
#define ATTENTION_SCALE_LOG2E 0.18033688f
#define ATTENTION_TYPE "f16"
#define ATTENTION_ONES 0x3c003c00u
#define ATTENTION_OUT_F32 0
#define ATTENTION_BEGIN (void)0  // or launch_dependents(), wait_for_producers()
#define ATTENTION_Q_ROW 2304
#define ATTENTION_Q_OFFSET 0
#define ATTENTION_K_ROW 2304
#define ATTENTION_K_OFFSET 768
#define ATTENTION_V_ROW 2304
#define ATTENTION_V_OFFSET 1536
#define ATTENTION_OUT_ROW 768
#define ATTENTION_OUT_OFFSET 0
#endif

#define UNROLL _Pragma("unroll")
#define DIM ATTENTION_DIM
#define ROWS 64  // of queries
#define KEYS 64
#define THREADS 128
#define UNITS (DIM / 8)  // 16 bytes of a row
#define TILE_BYTES (KEYS * DIM * 2)

__device__ __forceinline__ u32 shared_address(const void* p) {
  return (u32)__cvta_generic_to_shared(p);
}
// Of a 16-byte unit of a row, so that eight rows of one column fall into different banks.
__device__ __forceinline__ u32 unit_offset(u32 row, u32 unit) {
  const u32 turn = DIM % 64 == 0 ? row & 7 : DIM % 32 == 0 ? (row >> 1) & 3 : (row >> 2) & 1;
  return row * (DIM * 2) + ((unit ^ turn) << 4);
}
__device__ __forceinline__ void copy_unit(u32 to, const void* from, bool present) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(present ? 16 : 0) : "memory");
}
__device__ __forceinline__ void load_matrices(u32* r, u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_transposed(u32* r, u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void multiply(float* d, const u32* a, u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." ATTENTION_TYPE "." ATTENTION_TYPE
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ u32 pack(float low, float high) {
  u32 r;
  asm("cvt.rn." ATTENTION_TYPE "x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ void attention(const u16* q, const u16* k, const u16* v, out_type* out,
                                          const offset_type* offsets, const unit_type* units, i64 count) {
  extern __shared__ __align__(1024) char shared[];
  const u32 q_tile = shared_address(shared), k_tiles = q_tile + ROWS * DIM * 2, v_tiles = k_tiles + 2 * TILE_BYTES;
  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  ATTENTION_BEGIN;
  const i32 items = (i32)count * ATTENTION_HEADS;
  for (i32 item = blockIdx.x; item < items; item += gridDim.x) {
    // Head item mod HEADS of unit item / HEADS.
    const i32 unit = item / ATTENTION_HEADS, head = item - unit * ATTENTION_HEADS, kv_head = head / ATTENTION_GROUP;
    const i32 sequence = (i32)units[2 * unit], first = (i32)units[2 * unit + 1];
    const i64 begin = (i64)offsets[sequence];
    const i32 rows = (i32)((i64)offsets[sequence + 1] - begin);
    const i32 blocks = ((ATTENTION_CAUSAL ? min(rows, first + ROWS) : rows) + KEYS - 1) / KEYS;
    const u16* q_head = q + begin * ATTENTION_Q_ROW + ATTENTION_Q_OFFSET + head * DIM;
    const u16* k_head = k + begin * ATTENTION_K_ROW + ATTENTION_K_OFFSET + kv_head * DIM;
    const u16* v_head = v + begin * ATTENTION_V_ROW + ATTENTION_V_OFFSET + kv_head * DIM;
    UNROLL for (int u = thread; u < ROWS * UNITS; u += THREADS) {
      const int r = u / UNITS, c = u % UNITS, row = first + r;
      copy_unit(q_tile + unit_offset(r, c), q_head + (i64)min(row, rows - 1) * ATTENTION_Q_ROW + c * 8, row < rows);
    }
    // Blocks arrive in the order K0 V0 K1 V1 ...; an empty group stands for one past the end, so that the groups in
    // flight can be counted.
    const auto load = [&](const u16* from, i64 stride, u32 tiles, i32 block) {
      if (block < blocks) {
        UNROLL for (int u = thread; u < KEYS * UNITS; u += THREADS) {
          const int r = u / UNITS, c = u % UNITS, row = block * KEYS + r;
          copy_unit(tiles + (block & 1) * TILE_BYTES + unit_offset(r, c), from + min(row, rows - 1) * stride + c * 8, row < rows);
        }
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
    };
    load(k_head, ATTENTION_K_ROW, k_tiles, 0);
    load(v_head, ATTENTION_V_ROW, v_tiles, 0);
    load(k_head, ATTENTION_K_ROW, k_tiles, 1);
    u32 queries[DIM / 16][4];
    float result[DIM / 8][4] = {}, sum[4] = {}, most[2] = {-1e30f, -1e30f};
    for (i32 j = 0; j < blocks; j++) {
      asm volatile("cp.async.wait_group 2;" ::: "memory");
      __syncthreads();  // the keys are here, and nobody reads the values of the block before
      load(v_head, ATTENTION_V_ROW, v_tiles, j + 1);
      if (j == 0) {
        UNROLL for (int e = 0; e < DIM / 16; e++)
          load_matrices(queries[e], q_tile + unit_offset(warp * 16 + (lane & 15), e * 2 + (lane >> 4)));
      }
      const u32 tile = (j & 1) * TILE_BYTES;
      float score[KEYS / 8][4] = {};
      UNROLL for (int e = 0; e < DIM / 16; e++)
        UNROLL for (int n = 0; n < KEYS / 16; n++) {
          u32 b[4];
          load_matrices(b, k_tiles + tile + unit_offset(n * 16 + (lane & 7) + ((lane >> 4) << 3), e * 2 + ((lane >> 3) & 1)));
          multiply(score[2 * n], queries[e], b[0], b[1]);
          multiply(score[2 * n + 1], queries[e], b[2], b[3]);
        }
      if ((j + 1) * KEYS > rows || (ATTENTION_CAUSAL && (j + 1) * KEYS > first)) {
        UNROLL for (int n = 0; n < KEYS / 8; n++)
          UNROLL for (int e = 0; e < 4; e++) {
            const i32 key = j * KEYS + n * 8 + (lane & 3) * 2 + (e & 1);
            const i32 row = first + warp * 16 + (lane >> 2) + (e >> 1) * 8;
            if (key >= rows || (ATTENTION_CAUSAL && key > row)) score[n][e] = -1e30f;
          }
      }
      float top[2] = {score[0][0], score[0][2]};
      UNROLL for (int n = 0; n < KEYS / 8; n++) {
        top[0] = fmaxf(top[0], fmaxf(score[n][0], score[n][1]));
        top[1] = fmaxf(top[1], fmaxf(score[n][2], score[n][3]));
      }
      if (__any_sync(~0u, (top[0] - most[0]) * ATTENTION_SCALE_LOG2E > 8.f || (top[1] - most[1]) * ATTENTION_SCALE_LOG2E > 8.f)) {
        UNROLL for (int r = 0; r < 2; r++) {
          top[r] = fmaxf(top[r], __shfl_xor_sync(~0u, top[r], 1));
          top[r] = fmaxf(top[r], __shfl_xor_sync(~0u, top[r], 2));
          top[r] = fmaxf(top[r], most[r]);
          const float factor = exp2_approx((most[r] - top[r]) * ATTENTION_SCALE_LOG2E);
          most[r] = top[r];
          sum[2 * r] *= factor;
          UNROLL for (int d = 0; d < DIM / 8; d++) result[d][2 * r] *= factor, result[d][2 * r + 1] *= factor;
        }
      }
      const float shift[2] = {-most[0] * ATTENTION_SCALE_LOG2E, -most[1] * ATTENTION_SCALE_LOG2E};
      UNROLL for (int n = 0; n < KEYS / 8; n++)
        UNROLL for (int e = 0; e < 4; e++) score[n][e] = exp2_approx(fmaf(score[n][e], ATTENTION_SCALE_LOG2E, shift[e >> 1]));
      asm volatile("cp.async.wait_group 2;" ::: "memory");
      __syncthreads();  // the values are here, and nobody reads these keys any more
      load(k_head, ATTENTION_K_ROW, k_tiles, j + 2);
      UNROLL for (int n = 0; n < KEYS / 16; n++) {
        const u32 a[4] = {pack(score[2 * n][0], score[2 * n][1]), pack(score[2 * n][2], score[2 * n][3]),
                          pack(score[2 * n + 1][0], score[2 * n + 1][1]), pack(score[2 * n + 1][2], score[2 * n + 1][3])};
        multiply(sum, a, ATTENTION_ONES, ATTENTION_ONES);
        UNROLL for (int d = 0; d < DIM / 16; d++) {
          u32 b[4];
          load_transposed(b, v_tiles + tile + unit_offset(n * 16 + (lane & 15), d * 2 + (lane >> 4)));
          multiply(result[2 * d], a, b[0], b[1]);
          multiply(result[2 * d + 1], a, b[2], b[3]);
        }
      }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    UNROLL for (int r = 0; r < 2; r++) {
      // Scores that are all -inf weigh nothing.
      const float scale = sum[2 * r] == 0.f ? 0.f : 1.f / sum[2 * r];
      const i32 line = warp * 16 + (lane >> 2) + r * 8;
#if ATTENTION_OUT_F32
      if (first + line < rows) {
        float* to = out + (begin + first + line) * ATTENTION_OUT_ROW + ATTENTION_OUT_OFFSET + head * DIM + (lane & 3) * 2;
        UNROLL for (int d = 0; d < DIM / 8; d++)
          *(float2*)(to + d * 8) = make_float2(result[d][2 * r] * scale, result[d][2 * r + 1] * scale);
      }
#else
      // Through the warp's own query rows, so that global stores are 16 bytes wide.
      UNROLL for (int d = 0; d < DIM / 8; d++)
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(q_tile + unit_offset(line, d) + (lane & 3) * 4),
                     "r"(pack(result[d][2 * r] * scale, result[d][2 * r + 1] * scale))
                     : "memory");
#endif
    }
#if !ATTENTION_OUT_F32
    __syncwarp();
    UNROLL for (int u = lane; u < 16 * UNITS; u += 32) {
      const int line = warp * 16 + u / UNITS, c = u % UNITS;
      u32 x, y, z, w;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                   : "r"(q_tile + unit_offset(line, c))
                   : "memory");
      if (first + line < rows)
        *(uint4*)(out + (begin + first + line) * ATTENTION_OUT_ROW + ATTENTION_OUT_OFFSET + head * DIM + c * 8) =
            make_uint4(x, y, z, w);
    }
#endif
    __syncthreads();  // the next item overwrites the tiles
  }
}
