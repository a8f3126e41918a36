// launch threads=128 shared=65664 per_sm=2 cluster=1 tile=64x64 waits=0
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


#define FN __device__ __forceinline__
// Elements of 16 bits in pairs, and erf at their grade.

inline i32 least(i32 a, i32 b) { return a < b ? a : b; }

inline float2 pair_from_f16(u32 x) {
  float2 r;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}" : "=f"(r.x), "=f"(r.y) : "r"(x));
  return r;
}

inline u32 f16_from_pair(float2 x) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(x.y), "f"(x.x));
  return r;
}


constexpr i32 kN = 384, kK = 1536;
constexpr i32 kTileN = 64, kStages = 4, kRaster = 8;
constexpr i32 kTileLoads = 1, kTileStores = 1, kColumnLoads = 0;
constexpr bool kBulkStores = false;
constexpr i32 kTileM = 64, kStrideA = 1536;
constexpr bool kWholePieces = true, kProgrammatic = false;

// What the epilogue reads and writes.
struct Slots {
  const u16* b2;
  const u16* b3;
  u16* b4;
};
// Where staged operands and results lie.
FN const float* column_operand(const Slots& c, i32 operand, i32 n) {
  return 0;
}
FN const u16* tile_operand(const Slots& c, i32 tile, i32 m, i32 n) {
  return c.b2 + (i64)m * 384 + n;
}
FN u16* tile_result(const Slots& c, i32 tile, i32 m, i32 n) {
  return c.b4 + (i64)m * 384 + n;
}
FN const void* result_map(const Slots& c, i32 tile) {
  return 0;
}
FN i32 result_column(i32 tile, i32 n) {
  return n;
}
// One element: row m, column i1.
FN void element(const Slots& c, i64 m, i64 i1, float sum, float x0, float x1, float& y0) {
  y0 = x0 + (sum + x1);
}
// Columns n and n + 1 of rows m and m + 8: sums v, staged operands and results in[.][h] and [h + 1].
FN void epilogue(const Slots& c, i32 m, i32 n, i32 rows, const float* v, const u32 (*in)[4],
                 u32 (*out)[4], i32 h, u32 columns) {
  const i32 n0 = n, n1 = n + 1;
  const float2 x1 = pair_from_f16(*(const u32*)(c.b3 + n0));
  #pragma unroll
  for (i32 r = 0; r < 2; r++) {
    const i32 m0 = least(m + r * 8, rows - 1);
    const float2 x0 = pair_from_f16(in[0][h + r]);
    float2 y0;
    element(c, m0, n0, v[r * 2 + 0], x0.x, x1.x, y0.x);
    element(c, m0, n1, v[r * 2 + 1], x0.y, x1.y, y0.y);
    out[0][h + r] = f16_from_pair(y0);
  }
}

// d += a w, 16 x 8 x 16.
FN void mma(float* d, const u32 (&a)[4], u32 w0, u32 w1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(w0), "r"(w1));
}

// The finished sums of a warp on their way out, in the fragment layout that wgmma and mma.sync share: of every 16 rows x 8
// columns, lane l has rows l / 4 and l / 4 + 8 and columns 2 (l % 4) and the next.
//
// epilogue() is generated. Operands and results of 16 bits that lie row by row (tiles) pass through swizzled shared memory
// in blocks of 16 x 64, so that global memory sees whole 16-byte pieces of whole lines; the operands of a block are
// requested one block ahead. Operands of columns wait in shared memory as well where kColumnLoads counts them: from
// global memory each would come when the products are done. Everything else epilogue() reads and writes itself.
//
// kBulkStores: whole blocks of results leave shared memory by the copy engine (TMA), while the warp is at the next block,
// which has a place of its own; blocks at the end of rows or columns go through registers. There are no tile operands then.
constexpr i32 kBlockBytes = 2048;
constexpr i32 kBlocksInUse = kTileLoads > kTileStores ? kTileLoads : kTileStores;  // results take the operands' place
constexpr i32 kWarpBlocks = kTileLoads > 0 || kBulkStores ? kBlocksInUse * 2 : kBlocksInUse;

FN u32 shared_address(const void* p) {
  return (u32)__cvta_generic_to_shared(p);
}
// The 16-byte piece `piece` of row `row` in rows of 128 bytes from a multiple of 128 on: no bank is met twice by 8 rows.
FN u32 swizzled(u32 rows, i32 row, i32 piece) {
  return rows + row * 128 + ((piece ^ (row & 7)) << 4);
}
FN void load_fragments(u32 (&x)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(address)
               : "memory");
}
// 16 x 16 elements from column j of a block on: fragments of columns j and j + 8.
FN u32 fragments_at(u32 block, i32 j, i32 lane) {
  return swizzled(block, lane & 15, j / 8 + (lane >> 4));
}
FN void store_fragments(u32 block, i32 j, i32 lane, const u32 (&x)[4]) {
#if __CUDA_ARCH__ >= 900
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(fragments_at(block, j, lane)),
               "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
               : "memory");
#else
#pragma unroll
  for (i32 i = 0; i < 4; i++)
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(swizzled(block, lane / 4 + i % 2 * 8, j / 8 + i / 2) + lane % 4 * 4),
                 "r"(x[i])
                 : "memory");
#endif
}
// 16 bytes into shared memory; zeros where `valid` is false.
FN void copy_piece(u32 to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}
FN void end_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <i32 kPending>
FN void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// All but the last kPending groups of a warp's bulk stores have been read out of shared memory.
template <i32 kPending>
FN void wait_for_reads(i32 lane) {
  if (lane == 0) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
  __syncwarp();
}
// A block of 16 x 64 results, which all lanes have stored.
template <i32 kTile>
FN void store_block(u32 block, const Slots& c, i32 m0, i32 n0) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(result_map(c, kTile)),
      "r"(block), "r"(result_column(kTile, n0)), "r"(m0)
      : "memory");
}
template <i32 kTile = 0>
FN void store_blocks(u32 blocks, const Slots& c, i32 m0, i32 n0) {
  store_block<kTile>(blocks + kTile * kBlockBytes, c, m0, n0);
  if constexpr (kTile + 1 < kTileStores) store_blocks<kTile + 1>(blocks, c, m0, n0);
}
// Before a CTA ends.
template <bool kAny>
FN void end_stores() {
  if constexpr (kAny) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Of the columns of a tile from n0 on.
FN void request_columns(u32 columns, const Slots& c, i32 n0, i32 lane) {
#pragma unroll
  for (i32 operand = 0; operand < kColumnLoads; operand++)
#pragma unroll
    for (i32 i = 0; i < kTileN; i += 128) {
      const i32 at = i + lane * 4, n = n0 + at;
      if (at < kTileN)
        copy_piece(columns + (operand * kTileN + at) * 4, column_operand(c, operand, n < kN ? n : 0), n < kN);
    }
}

// Operands of 16 rows from m0 on, kWidth <= 64 columns from n0 on.
template <i32 kWidth>
FN void request_block(u32 blocks, const Slots& c, i32 m0, i32 n0, i32 rows, i32 lane) {
#pragma unroll
  for (i32 tile = 0; tile < kTileLoads; tile++)
#pragma unroll
    for (i32 i = 0; i < 4; i++) {
      const i32 row = i * 4 + lane / 8, m = m0 + row, n = n0 + lane % 8 * 8;
      const bool valid = m < rows && n < kN && lane % 8 * 8 < kWidth;
      copy_piece(swizzled(blocks + tile * kBlockBytes, row, lane % 8),
                 tile_operand(c, tile, valid ? m : 0, valid ? n : 0), valid);
    }
  if (kTileLoads > 0) end_copies();
}
template <i32 kWidth>
FN void finish_block(const float* v, u32 blocks, u32 columns, const Slots& c, i32 m0, i32 n0, i32 rows,
                     i32 lane) {
  // Addresses are made anew for each block: kept for all of them they would take the registers of sums.
  asm volatile("" : "+r"(lane), "+r"(m0));
  if constexpr (kBulkStores) wait_for_reads<1>(lane);  // of the block before the last, which lay here
#pragma unroll
  for (i32 j = 0; j < kWidth; j += 16) {
    u32 in[kTileLoads > 0 ? kTileLoads : 1][4], out[kTileStores > 0 ? kTileStores : 1][4];
#pragma unroll
    for (i32 i = 0; i < kTileLoads; i++) load_fragments(in[i], fragments_at(blocks + i * kBlockBytes, j, lane));
#pragma unroll
    for (i32 h = 0; h < 2; h++)
      epilogue(c, m0 + lane / 4, n0 + j + h * 8 + lane % 4 * 2, rows, v + j / 2 + h * 4, in, out, h * 2, columns);
#pragma unroll
    for (i32 i = 0; i < kTileStores; i++) store_fragments(blocks + i * kBlockBytes, j, lane, out[i]);
  }
  if constexpr (kBulkStores) {
    const bool whole = kWidth == 64 && m0 + 16 <= rows && n0 + 64 <= kN;
    if (whole) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (lane == 0) {
      if (whole) store_blocks(blocks, c, m0, n0);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");  // also an empty one: they are counted
    }
    if (whole) return;
  }
  __syncwarp();
#pragma unroll
  for (i32 tile = 0; tile < kTileStores; tile++)
#pragma unroll
    for (i32 i = 0; i < 4; i++) {
      const i32 row = i * 4 + lane / 8, m = m0 + row, n = n0 + lane % 8 * 8;
      uint4 x;
      asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                   : "r"(swizzled(blocks + tile * kBlockBytes, row, lane % 8))
                   : "memory");
      if (m < rows && n < kN && lane % 8 * 8 < kWidth)
        asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(tile_result(c, tile, m, n)), "r"(x.x), "r"(x.y),
                     "r"(x.z), "r"(x.w)
                     : "memory");
    }
  __syncwarp();
}

// Sums v of 16 rows from m0 on, kColumns columns from n0 on. kTurn: which of the warp's two sets of blocks (where it has
// two) is that of the first block, with its operands; column n's operands are at `columns` + 4 n. kMore: those of the first
// block 64 rows (kRowStep) further on are wanted next.
template <i32 kColumns, i32 kTurn, i32 kRowStep, bool kMore, i32 kDone = 0>
FN void finish_rows(const float* v, u32 blocks, u32 columns, const Slots& c, i32 m0, i32 n0, i32 rows, i32 lane) {
  constexpr i32 kRest = kColumns - kDone, kWidth = kRest < 64 ? kRest : 64, kNext = kRest - kWidth;
  constexpr i32 kSet = kBlocksInUse * kBlockBytes;
  const u32 here = blocks + (kTileLoads > 0 || kBulkStores ? kTurn * kSet : 0), there = blocks + (1 - kTurn) * kSet;
  if constexpr (kTileLoads > 0) {
    if constexpr (kNext > 0)
      request_block<(kNext < 64 ? kNext : 64)>(there, c, m0, n0 + kDone + kWidth, rows, lane);
    else if constexpr (kMore)
      request_block<(kColumns < 64 ? kColumns : 64)>(there, c, m0 + kRowStep, n0, rows, lane);
    wait_for_copies<(kNext > 0 || kMore ? 1 : 0)>();
    __syncwarp();
  }
  finish_block<kWidth>(v + kDone / 2, here, columns, c, m0, n0 + kDone, rows, lane);
  if constexpr (kNext > 0)
    finish_rows<kColumns, 1 - kTurn, kRowStep, kMore, kDone + kWidth>(v, blocks, columns, c, m0, n0, rows, lane);
}
// Blocks that finish_rows() goes through.
constexpr i32 blocks_of(i32 columns) {
  return (columns + 63) / 64;
}

// Products on mma.sync (sm_80 and newer): four warps, two by two, multiply a tile from a ring of stages (64 elements of k
// of the tile's rows of A and W) that cp.async fills. Any grid: CTA i computes tiles i, i + gridDim, ...
//
// Class mma.k16: a row's sums are m16n8k16 products in ascending k whatever the tile, the rows or the grid.
//
// Before this text: the constants of the tile and the problem, Slots, mma() and gemm_epilogue.cu.
constexpr i32 kThreads = 128;
constexpr i32 kWarpM = kTileM / 2, kWarpN = kTileN / 2;
constexpr i32 kStageA = kTileM * 128, kStageW = kTileN * 128;  // bytes
constexpr i32 kSteps = (kK + 63) / 64;
constexpr i32 kTilesN = (kN + kTileN - 1) / kTileN;

// Eight elements of a row from `from` on, of which those below `count` exist.
FN void load_piece(u32 to, const u16* from, i32 count) {
  if (kWholePieces) {
    copy_piece(to, from, count > 0);
  } else {
#pragma unroll
    for (i32 i = 0; i < 8; i++) {
      const u16 x = i < count ? from[i] : 0;
      asm volatile("st.shared.u16 [%0], %1;" ::"r"(to + i * 2), "h"(x) : "memory");
    }
  }
}
// kRows rows from `row` on, elements 64 step .. of k. Rows from `rows` on are zeros.
template <i32 kRows>
FN void load_stage(u32 to, const u16* from, i32 stride, i32 row, i32 rows, i32 step) {
  const i32 piece = threadIdx.x % 8, k = step * 64 + piece * 8;
#pragma unroll
  for (i32 i = 0; i < kRows; i += kThreads / 8) {
    const i32 r = i + threadIdx.x / 8;
    const bool exists = row + r < rows && k < kK;
    load_piece(swizzled(to, r, piece), exists ? from + (i64)(row + r) * stride + k : from, exists ? kK - k : 0);
  }
}

// Adds the products of one stage to a warp's sums.
FN void multiply(float (&d)[kWarpM / 16][kWarpN / 2], u32 a, u32 w, i32 lane) {
#pragma unroll
  for (i32 k = 0; k < 4; k++) {
    u32 fa[kWarpM / 16][4], fw[kWarpN / 16][4];
#pragma unroll
    for (i32 i = 0; i < kWarpM / 16; i++) load_fragments(fa[i], swizzled(a + i * 2048, lane % 16, k * 2 + lane / 16));
#pragma unroll
    for (i32 j = 0; j < kWarpN / 16; j++)
      load_fragments(fw[j], swizzled(w + j * 2048, lane % 8 + lane / 16 * 8, k * 2 + lane / 8 % 2));
#pragma unroll
    for (i32 i = 0; i < kWarpM / 16; i++)
#pragma unroll
      for (i32 j = 0; j < kWarpN / 8; j++) mma(&d[i][j * 4], fa[i], fw[j / 2][j % 2 * 2], fw[j / 2][j % 2 * 2 + 1]);
  }
}

// Of the warp's rows of 16, the epilogues one after another.
template <i32 kRow, i32 kTurn>
FN void finish(float (&d)[kWarpM / 16][kWarpN / 2], u32 blocks, const Slots& c, i32 m0, i32 n0, i32 rows, i32 lane) {
  constexpr bool kMore = (kRow + 1) * 16 < kWarpM;
  finish_rows<kWarpN, kTurn, 16, kMore>(d[kRow], blocks, 0, c, m0 + kRow * 16, n0, rows, lane);
  if constexpr (kMore) finish<kRow + 1, (kTurn + blocks_of(kWarpN)) % 2>(d, blocks, c, m0, n0, rows, lane);
}

FN void gemm(const u16* a, const u16* w, i32 rows, const Slots& c) {
  extern __shared__ char shared[];
  const u32 base = (shared_address(shared) + 127) & ~127u;
  const i32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, warp_m = warp / 2 * kWarpM, warp_n = warp % 2 * kWarpN;
  const u32 ring_a = base, ring_w = base + kStages * kStageA;
  const u32 blocks = base + warp * kWarpBlocks * kBlockBytes;  // the ring is idle then
  const i32 tiles_m = (rows + kTileM - 1) / kTileM, tiles = tiles_m * kTilesN;
  if constexpr (kProgrammatic) launch_dependents();
  bool waited = false;
  for (i32 index = blockIdx.x; index < tiles; index += gridDim.x) {
    // Groups of kRaster rows of tiles, rows fastest, keep tiles of W in L2.
    const i32 group = index / (kRaster * kTilesN), first = group * kRaster;
    const i32 height = least(tiles_m - first, kRaster), rest = index - group * kRaster * kTilesN;
    const i32 n0 = rest / height * kTileN, m0 = (first + rest % height) * kTileM;
    // Weights are constants: the first of them are under way before the kernels before this one have ended.
#pragma unroll
    for (i32 s = 0; s < kStages - 1; s++)
      if (s < kSteps) load_stage<kTileN>(ring_w + s * kStageW, w, kK, n0, kN, s);
    if (kProgrammatic && !waited) wait_for_producers();
    waited = true;
#pragma unroll
    for (i32 s = 0; s < kStages - 1; s++) {
      if (s < kSteps) load_stage<kTileM>(ring_a + s * kStageA, a, kStrideA, m0, rows, s);
      end_copies();
    }
    float d[kWarpM / 16][kWarpN / 2] = {};
#pragma unroll 1
    for (i32 step = 0; step < kSteps; step++) {
      wait_for_copies<kStages - 2>();
      __syncthreads();
      const i32 next = step + kStages - 1, to = next % kStages, from = step % kStages;
      if (next < kSteps) {
        load_stage<kTileM>(ring_a + to * kStageA, a, kStrideA, m0, rows, next);
        load_stage<kTileN>(ring_w + to * kStageW, w, kK, n0, kN, next);
      }
      end_copies();
      multiply(d, ring_a + from * kStageA + warp_m * 128, ring_w + from * kStageW + warp_n * 128, lane);
    }
    wait_for_copies<0>();
    __syncthreads();
    if (kTileLoads > 0) request_block<(kWarpN < 64 ? kWarpN : 64)>(blocks, c, m0 + warp_m, n0 + warp_n, rows, lane);
    finish<0, 0>(d, blocks, c, m0 + warp_m, n0 + warp_n, rows, lane);
    __syncthreads();
  }
  if (kProgrammatic && !waited) wait_for_producers();
}

extern "C" __global__ void __launch_bounds__(kThreads, 2) k(const i64* n, const u16* b0, const u16* b1, const u16* b2, const u16* b3, u16* b4) {
  const i64 s0 = n[0];
  const Slots slots = {b2, b3, b4};
  gemm(b0 + 0, b1, (i32)(s0), slots);
}
