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
