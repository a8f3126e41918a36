// launch threads=128 shared=21536 per_sm=10 cluster=1 tile=1x1 waits=1 map=0:f16:1152:32x64:s64
// Prelude of generated kernels: header-free types, and what the kernel below uses.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

struct alignas(64) TMap {
  u64 v[16];
};

inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;"); }

inline void wait_for_producers() { asm volatile("griddepcontrol.wait;" ::: "memory"); }


typedef i32 offset_type;
typedef i32 unit_type;
typedef u16 out_type;
#define ATTENTION_DIM 32
#define ATTENTION_HEADS 12
#define ATTENTION_GROUP 1
#define ATTENTION_CAUSAL 0
#define ATTENTION_Q_ROW 1152
#define ATTENTION_Q_OFFSET 0
#define ATTENTION_K_ROW 1152
#define ATTENTION_K_OFFSET 384
#define ATTENTION_V_ROW 1152
#define ATTENTION_V_OFFSET 768
#define ATTENTION_OUT_ROW 384
#define ATTENTION_OUT_OFFSET 0
#define ATTENTION_TYPE "f16"
#define ATTENTION_OUT_F32 0
#define ATTENTION_SCALE_LOG2E 0x1.0527dcp-2f
#define ATTENTION_STAGES 2

// Attention over packed sequences on wgmma (sm_90a): one warpgroup a CTA, 64 query rows an item, key blocks of 64
// counted from the sequence's first row. Queries and weights are register operands; keys and values come by TMA, keys one
// to two blocks ahead and values one, over the borders of items; the softmax of a block hides behind products of its own
// CTA (BESIDE) and of the others on its SM.
//
// Class wgmma.k16.kb64: scores and results are m64nNk16 products in ascending k; a warp's 16 rows take a new maximum only
// when a score exceeds the old one by 2^8 (exact: the factor cancels). Rows past the sequence's end compute on its last
// row, so that no bit depends on what lies behind it.
//
// The generator defines the numbers below and gives `attention` its operands; this file compiles alone.
#define UNROLL _Pragma("unroll")
#define DIM ATTENTION_DIM
#define STAGES ATTENTION_STAGES
#define KEYS 64
#define BESIDE (DIM > 32)  // else one more CTA on an SM hides as much
#define CHUNK (DIM % 64 == 0 ? 64 : 32)  // columns of a shared-memory tile: rows of 128 or 64 swizzled bytes
#define CHUNKS (DIM / CHUNK)
#define CHUNK_ROW (CHUNK * 2)
#define CHUNK_BYTES (KEYS * CHUNK_ROW)
#define TILE_BYTES (CHUNKS * CHUNK_BYTES)
static_assert(STAGES == 2, "Stage and the order of loads");

__device__ __forceinline__ u32 shared_address(const void* p) {
  return (u32)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void barrier_init(u32 barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(1) : "memory");
}
__device__ __forceinline__ void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_wait(u32 barrier, u32 phase) {
  asm volatile(
      "{.reg .pred p;\n"
      "W%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra D%=;\n"
      "bra W%=;\n"
      "D%=:}" ::"r"(barrier), "r"(phase) : "memory");
}
__device__ __forceinline__ void copy_box(u32 to, const TMap* map, u32 barrier, i32 column, i32 row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(column), "r"(row) : "memory");
}
// Of a tile whose 8-row groups lie 8 rows apart and whose chunks lie CHUNK_BYTES apart.
__device__ __forceinline__ u64 tile_descriptor(u32 address) {
  return (u64)((address & 0x3FFFF) >> 4) | ((u64)(CHUNKS > 1 ? CHUNK_BYTES >> 4 : 1) << 16) |
         ((u64)(CHUNK_ROW * 8 >> 4) << 32) | ((CHUNK == 64 ? 1ull : 2ull) << 62);
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

#define REGISTERS_16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define REGISTERS_32 REGISTERS_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define REGISTERS_48 REGISTERS_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define REGISTERS_64 REGISTERS_48 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
// d[64 queries][64 keys] = a[64][16] b[64 keys][16]^T, added to d unless `add` is 0
__device__ __forceinline__ void multiply_keys(float* d, const u32* a, u64 b, u32 add) {
  asm volatile(
      "{.reg .pred q; setp.ne.b32 q, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." ATTENTION_TYPE "." ATTENTION_TYPE
      " {" REGISTERS_32 "}, {%32,%33,%34,%35}, %36, q, 1, 1, 0;}"
      : D16(0), D16(16)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
// d[64 queries][DIM] += a[64][16 keys] b[16 keys][DIM]
__device__ __forceinline__ void multiply_values(float* d, const u32* a, u64 b) {
#define BEGIN(columns) "{.reg .pred q; setp.eq.b32 q, 0, 0;\nwgmma.mma_async.sync.aligned.m64n" columns "k16.f32." ATTENTION_TYPE "." ATTENTION_TYPE " {"
#define INPUTS "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
#if DIM == 32
  asm volatile(BEGIN("32") REGISTERS_16 "}, {%16,%17,%18,%19}, %20, q, 1, 1, 1;}" : D16(0) : INPUTS);
#elif DIM == 64
  asm volatile(BEGIN("64") REGISTERS_32 "}, {%32,%33,%34,%35}, %36, q, 1, 1, 1;}" : D16(0), D16(16) : INPUTS);
#elif DIM == 96
  asm volatile(BEGIN("96") REGISTERS_48 "}, {%48,%49,%50,%51}, %52, q, 1, 1, 1;}"
               : D16(0), D16(16), D16(32)
               : INPUTS);
#else
  asm volatile(BEGIN("128") REGISTERS_64 "}, {%64,%65,%66,%67}, %68, q, 1, 1, 1;}"
               : D16(0), D16(16), D16(32), D16(48)
               : INPUTS);
#endif
}
__device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int PENDING>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
// Accumulators change behind the compiler's back: pinned after a wait, or reads may move above it.
template <int N>
__device__ __forceinline__ void pin(float* d) {
  UNROLL for (int i = 0; i < N; i++) asm volatile("" : "+f"(d[i])::"memory");
}

// Position in the ring of stages.
struct Stage {
  u32 stage = 0, phase = 0;
  __device__ __forceinline__ void advance() {
    phase ^= stage;
    stage ^= 1;
  }
};

// Item i: head i mod HEADS of unit i / HEADS.
struct Item {
  i32 head, begin, rows, first, blocks;  // sequence's first row and rows; first query in it; key blocks
};
__device__ __forceinline__ Item find_item(i32 i, const offset_type* offsets, const unit_type* units) {
  Item item;
  const i32 unit = i / ATTENTION_HEADS, sequence = (i32)units[2 * unit];
  item.head = i - unit * ATTENTION_HEADS;
  item.first = (i32)units[2 * unit + 1];
  item.begin = (i32)offsets[sequence];
  item.rows = (i32)offsets[sequence + 1] - item.begin;
  const i32 keys = ATTENTION_CAUSAL ? min(item.rows, item.first + 64) : item.rows;
  item.blocks = (keys + KEYS - 1) / KEYS;
  return item;
}
// Rows of `begin + row` on, of one head.
__device__ __forceinline__ void load_tile(u32 to, const TMap* map, u32 barrier, i32 column, i32 row) {
  barrier_expect(barrier, TILE_BYTES);
  UNROLL for (int c = 0; c < CHUNKS; c++) copy_box(to + c * CHUNK_BYTES, map, barrier, column + c * CHUNK, row);
}

__device__ __forceinline__ void attention(const TMap* k_map, const TMap* v_map, const u16* q, out_type* out,
                                          const offset_type* offsets, const unit_type* units, i64 count) {
  extern __shared__ char shared[];
  const u32 k_tiles = (shared_address(shared) + 1023) & ~1023u, v_tiles = k_tiles + STAGES * TILE_BYTES;
  const u32 staging = v_tiles + STAGES * TILE_BYTES;
  const u32 k_full = staging + (ATTENTION_OUT_F32 ? 0 : 64 * DIM * 2), v_full = k_full + 8 * STAGES;
  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  launch_dependents();
  if (thread == 0) {
    for (int s = 0; s < 2 * STAGES; s++) barrier_init(k_full + 8 * s);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  wait_for_producers();
  const i32 items = (i32)count * ATTENTION_HEADS, grid = gridDim.x;

  // Thread 0 asks for blocks in the order of their use, of this item and those after it; for keys a block further than
  // for values.
  i32 next = blockIdx.x, block = 0;
  Item ahead;
  ahead.blocks = 0;
  if (thread == 0 && next < items) ahead = find_item(next, offsets, units);
  const auto load_keys = [&](u32 stage) {
    if (next < items)
      load_tile(k_tiles + stage * TILE_BYTES, k_map, k_full + 8 * stage,
                ATTENTION_K_OFFSET + ahead.head / ATTENTION_GROUP * DIM, ahead.begin + block * KEYS);
  };
  const auto load_values = [&](u32 stage) {
    if (next < items)
      load_tile(v_tiles + stage * TILE_BYTES, v_map, v_full + 8 * stage,
                ATTENTION_V_OFFSET + ahead.head / ATTENTION_GROUP * DIM, ahead.begin + block * KEYS);
    if (++block < ahead.blocks) return;
    block = 0, next += grid;
    if (next < items) ahead = find_item(next, offsets, units);
  };
  if (thread == 0) load_keys(0), load_values(0), load_keys(1);

  // 0, but the assembler cannot know.
  u32 zero;
  asm volatile("mov.u32 %0, %%clock_hi;" : "=r"(zero));
  zero >>= 31;

  Stage keys_at, values_at;
  for (i32 i = blockIdx.x; i < items; i += grid) {
    const Item item = find_item(i, offsets, units);
    // Of this thread's two query rows, 8 apart, the first.
    const i32 row = item.first + warp * 16 + (lane >> 2), last = item.rows - 1;
    u32 queries[DIM / 16][4];
    {
      const u16* head = q + ATTENTION_Q_OFFSET + item.head * DIM + (lane & 3) * 2;
      const u16* a = head + (i64)(item.begin + min(row, last)) * ATTENTION_Q_ROW;
      const u16* b = head + (i64)(item.begin + min(row + 8, last)) * ATTENTION_Q_ROW;
      UNROLL for (int k = 0; k < DIM / 16; k++) {
        queries[k][0] = *(const u32*)(a + k * 16);
        queries[k][1] = *(const u32*)(b + k * 16);
        queries[k][2] = *(const u32*)(a + k * 16 + 8);
        queries[k][3] = *(const u32*)(b + k * 16 + 8);
      }
    }
    float result[DIM / 2], score[KEYS / 2], most[2] = {-1e30f, -1e30f}, sum[2] = {0.f, 0.f}, factor[2];
    bool moved;  // the maximum: results so far get `factor`
    u32 weights[KEYS / 4];
    UNROLL for (int e = 0; e < DIM / 2; e++) result[e] = 0.f;
    const auto multiply_with_keys = [&]() {
      // ptxas 13.0.88 lets the weights overwrite loop-invariant A registers of the same size, so the queries pass
      // through an xor with zero that it cannot see through; a plain move is coalesced away.
      u32 a[DIM / 16][4];
      UNROLL for (int k = 0; k < DIM / 16; k++)
        UNROLL for (int e = 0; e < 4; e++) {
          if (DIM == KEYS)
            asm volatile("xor.b32 %0, %1, %2;" : "=r"(a[k][e]) : "r"(queries[k][e]), "r"(zero));
          else
            a[k][e] = queries[k][e];
        }
      barrier_wait(k_full + 8 * keys_at.stage, keys_at.phase);
      __syncwarp();  // thread 0 has been elsewhere, and products want whole warps
      pin<KEYS / 2>(score);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      UNROLL for (int k = 0; k < DIM / 16; k++) {
        constexpr int steps = CHUNK / 16;  // of a chunk
        multiply_keys(score, a[k], tile_descriptor(k_tiles + keys_at.stage * TILE_BYTES + k / steps * CHUNK_BYTES + k % steps * 32), k);
      }
      commit_products();
      keys_at.advance();
    };
    const auto multiply_with_values = [&]() {
      UNROLL for (int k = 0; k < KEYS / 16; k++)
        multiply_values(result, weights + 4 * k, tile_descriptor(v_tiles + values_at.stage * TILE_BYTES + k * 16 * CHUNK_ROW));
      commit_products();
      values_at.advance();
    };
    // Of block j: scores become weights that are not yet rounded.
    const auto weigh = [&](i32 j) {
      const i32 keys = item.rows - j * KEYS;  // from this block on
      if (keys < KEYS || (ATTENTION_CAUSAL && (j + 1) * KEYS > item.first)) {
        UNROLL for (int e = 0; e < KEYS / 2; e++) {
          const i32 key = (e >> 2) * 8 + (lane & 3) * 2 + (e & 1);
          if (key >= keys || (ATTENTION_CAUSAL && j * KEYS + key > row + (e & 2) * 4)) score[e] = -1e30f;
        }
      }
      float top[2] = {score[0], score[2]};
      UNROLL for (int e = 0; e < KEYS / 2; e += 4) {
        top[0] = fmaxf(top[0], fmaxf(score[e], score[e + 1]));
        top[1] = fmaxf(top[1], fmaxf(score[e + 2], score[e + 3]));
      }
      moved = __any_sync(~0u, (top[0] - most[0]) * ATTENTION_SCALE_LOG2E > 8.f || (top[1] - most[1]) * ATTENTION_SCALE_LOG2E > 8.f);
      if (moved) {
        UNROLL for (int r = 0; r < 2; r++) {
          top[r] = fmaxf(top[r], __shfl_xor_sync(~0u, top[r], 1));
          top[r] = fmaxf(top[r], __shfl_xor_sync(~0u, top[r], 2));
          top[r] = fmaxf(top[r], most[r]);
          factor[r] = exp2_approx((most[r] - top[r]) * ATTENTION_SCALE_LOG2E);
          most[r] = top[r];
          sum[r] *= factor[r];
        }
      }
      const float shift[2] = {-most[0] * ATTENTION_SCALE_LOG2E, -most[1] * ATTENTION_SCALE_LOG2E};
      UNROLL for (int e = 0; e < KEYS / 2; e += 4) {
        UNROLL for (int r = 0; r < 2; r++) {
          UNROLL for (int c = 2 * r; c < 2 * r + 2; c++)
            score[e + c] = exp2_approx(fmaf(score[e + c], ATTENTION_SCALE_LOG2E, shift[r]));
          sum[r] += score[e + 2 * r] + score[e + 2 * r + 1];
        }
      }
    };
    // Rounds the weights, and lets the results follow the maximum; no products are under way.
    const auto settle = [&]() {
      if (moved)
        UNROLL for (int e = 0; e < DIM / 2; e += 4)
          UNROLL for (int r = 0; r < 2; r++) result[e + 2 * r] *= factor[r], result[e + 2 * r + 1] *= factor[r];
      UNROLL for (int e = 0; e < KEYS / 2; e += 2) weights[e / 2] = pack(score[e], score[e + 1]);
      pin<DIM / 2>(result);
      // A registers must be written before the fence.
      UNROLL for (int e = 0; e < KEYS / 4; e++) asm volatile("" : "+r"(weights[e])::"memory");
    };
    multiply_with_keys();
    wait_for_products<0>();
    pin<KEYS / 2>(score);
    if (thread == 0) load_values(values_at.stage ^ 1), load_keys(keys_at.stage ^ 1);
    weigh(0);
    // The softmax of a block goes beside the products of the last one with its values, where that is worth registers.
    for (i32 j = 1; j < item.blocks; j++) {
      settle();
      barrier_wait(v_full + 8 * values_at.stage, values_at.phase);
      if (!BESIDE) {
        __syncwarp();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        multiply_with_values();
        wait_for_products<0>();
        pin<DIM / 2>(result);
      }
      multiply_with_keys();
      if (BESIDE) multiply_with_values();
      wait_for_products<BESIDE>();
      pin<KEYS / 2>(score);
      if (!BESIDE && thread == 0) load_values(values_at.stage ^ 1), load_keys(keys_at.stage ^ 1);
      weigh(j);
      if (!BESIDE) continue;
      wait_for_products<0>();
      pin<DIM / 2>(result);
      if (thread == 0) load_values(values_at.stage ^ 1), load_keys(keys_at.stage ^ 1);
    }
    settle();
    barrier_wait(v_full + 8 * values_at.stage, values_at.phase);
    // Rows past the sequence may hold anything, and 0 x NaN is NaN: they become zeros.
    if (const i32 keys = item.rows - (item.blocks - 1) * KEYS; keys < KEYS) {
      const u32 tile = v_tiles + values_at.stage * TILE_BYTES;
      const i32 units16 = (KEYS - keys) * (CHUNK_ROW / 16);
      for (i32 u = thread; u < CHUNKS * units16; u += 128) {
        const u32 chunk = CHUNKS > 1 ? u / units16 : 0, at = u - chunk * units16;
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(tile + chunk * CHUNK_BYTES + keys * CHUNK_ROW + at * 16),
                     "r"(0), "r"(0), "r"(0), "r"(0)
                     : "memory");
      }
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncthreads();
    }
    __syncwarp();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    multiply_with_values();
    wait_for_products<0>();
    pin<DIM / 2>(result);
    UNROLL for (int r = 0; r < 2; r++) {
      sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
      sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
      // Scores that are all -inf weigh nothing.
      sum[r] = sum[r] == 0.f ? 0.f : 1.f / sum[r];
    }
#if ATTENTION_OUT_F32
    UNROLL for (int r = 0; r < 2; r++) {
      if (row + r * 8 > last) continue;
      float* to = out + (i64)(item.begin + row + r * 8) * ATTENTION_OUT_ROW + ATTENTION_OUT_OFFSET + item.head * DIM + (lane & 3) * 2;
      UNROLL for (int e = 0; e < DIM / 8; e++)
        *(float2*)(to + e * 8) = make_float2(result[4 * e + 2 * r] * sum[r], result[4 * e + 2 * r + 1] * sum[r]);
    }
#else
    // Through shared memory, each warp its own rows, so that global stores are 16 bytes wide.
    const u32 rows16 = staging + warp * 16 * DIM * 2;
#define STAGED(row, unit) (rows16 + (row) * (DIM * 2) + (((unit) ^ (DIM % 64 == 0 ? (row) & 7 : ((row) >> 1) & 3)) << 4))
    UNROLL for (int r = 0; r < 2; r++) {
      const u32 line = (lane >> 2) + r * 8;
      UNROLL for (int e = 0; e < DIM / 8; e++)
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(STAGED(line, e) + (lane & 3) * 4),
                     "r"(pack(result[4 * e + 2 * r] * sum[r], result[4 * e + 2 * r + 1] * sum[r]))
                     : "memory");
    }
    __syncwarp();
    UNROLL for (int u = lane; u < 16 * (DIM / 8); u += 32) {
      const u32 line = u / (DIM / 8), unit = u % (DIM / 8);
      u32 x, y, z, w;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(STAGED(line, unit)) : "memory");
      const i32 to = item.first + warp * 16 + line;
      if (to <= last)
        *(uint4*)(out + (i64)(item.begin + to) * ATTENTION_OUT_ROW + ATTENTION_OUT_OFFSET + item.head * DIM + unit * 8) =
            make_uint4(x, y, z, w);
    }
    __syncwarp();
#endif
  }
}

extern "C" __global__ void __launch_bounds__(128, 5) k(const i64* n, const u16* b0, const i32* b1, const i32* b2, u16* b3, const __grid_constant__ TMap map0) {
  attention(&map0, &map0, b0, b3, b1, b2, n[2]);
}
