// Products on wgmma (sm_90a): one producer thread fills a ring of stages (64 elements of k of the tile's rows of A and W,
// swizzled by 128 bytes) by TMA, consumer warpgroups multiply. Persistent: CTA i computes tiles i, i + gridDim, ...
//
// Class wgmma.k16: a row's sums are m64nNk16 products in ascending k whatever the tile, the rows or the grid.
//
// kPingPong: the warpgroups own alternate tiles, so that the epilogue of one hides behind the products of the other; two
// named barriers keep them in turn (without them a wait two phases ahead passes, as mbarriers have one bit of phase).
// Otherwise they share a tile.
//
// Before this text: the constants of the tile and the problem, Slots, wgmma() and gemm_epilogue.cu.
constexpr i32 kTileM = (kPingPong ? 1 : kGroups) * kBlocks * 64;
constexpr i32 kStageA = kTileM * 128, kStageW = kTileN * 128;  // bytes
constexpr i32 kSteps = (kK + 63) / 64;                         // stages a tile
constexpr i32 kTilesN = (kN + kTileN - 1) / kTileN;
constexpr i32 kThreads = 128 * (kGroups + 1);
static_assert(!kBulkStores || kBlocks * ((kTileN + 63) / 64) % 2 == 0, "blocks of tiles alternate between two places");

FN void barrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
FN void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
FN void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
FN void barrier_wait(u32 barrier, u32 phase) {
  asm volatile(
      "{.reg .pred p;\n"
      "W%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra D%=;\n"
      "bra W%=;\n"
      "D%=:}" ::"r"(barrier),
      "r"(phase)
      : "memory");
}
FN void copy_box(u32 to, const TMap& map, u32 barrier, i32 column, i32 row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(column), "r"(row)
      : "memory");
}
FN void prefetch_map(const TMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
// Rows of 64 elements, swizzled by 128 bytes, groups of 8 rows 1024 bytes apart.
FN u64 descriptor(u32 address) {
  return (u64)((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}
// The sums change behind the compiler's back: no use of them may move above this.
FN void pin(float (&d)[kTileN / 2]) {
#pragma unroll
  for (i32 i = 0; i < kTileN / 2; i++) asm volatile("" : "+f"(d[i])::"memory");
}

// Position in the ring.
struct Cursor {
  u32 stage = 0, phase = 0;
  FN void advance() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

// Addresses in shared memory; each from a multiple of 1024 on as far as the swizzle wants it.
struct Ring {
  u32 a, w, blocks, columns, full, empty;
  FN explicit Ring(u32 base) {
    a = (base + 1023) & ~1023u;
    w = a + kStages * kStageA;
    blocks = w + kStages * kStageW;  // of the epilogue, kWarpBlocks a warp
    columns = blocks + kGroups * 4 * kWarpBlocks * kBlockBytes;
    full = columns + kGroups * 4 * kColumnLoads * kTileN * 4;
    empty = full + 8 * kStages;
  }
};

// Tiles go in groups of kRaster rows of tiles, rows fastest, which keeps tiles of W in L2.
struct Tile {
  i32 m, n;  // first row and column
  FN Tile(i32 index, i32 tiles_m) {
    const i32 group = index / (kRaster * kTilesN), first = group * kRaster;
    const i32 height = least(tiles_m - first, kRaster), rest = index - group * kRaster * kTilesN;
    n = rest / height * kTileN;
    m = (first + rest % height) * kTileM;
  }
};

FN void produce(const TMap& map_a, const TMap& map_w, const Ring& ring, i32 tiles_m) {
  Cursor at;
  const auto request_w = [&](i32 step, i32 n) {
    barrier_expect(ring.full + 8 * at.stage, kStageA + kStageW);
    copy_box(ring.w + at.stage * kStageW, map_w, ring.full + 8 * at.stage, step * 64, n);
  };
  const auto request_a = [&](i32 step, i32 m) {
    copy_box(ring.a + at.stage * kStageA, map_a, ring.full + 8 * at.stage, kOffsetA + step * 64, m);
  };
  // Weights are constants: the first of them are under way before the kernels before this one have ended.
  const i32 tiles = tiles_m * kTilesN;
  constexpr i32 kFirst = kStages < kSteps ? kStages : kSteps;
  i32 index = blockIdx.x, step = 0;
  if (index < tiles)
#pragma unroll 1
    for (const Tile tile(index, tiles_m); step < kFirst; step++, at.stage++) request_w(step, tile.n);
  wait_for_producers();
  at.stage = 0;
  if (index < tiles)
#pragma unroll 1
    for (const Tile tile(index, tiles_m); at.stage < kFirst; at.stage++) request_a(at.stage, tile.m);
  if (at.stage == kStages) {
    at.stage = 0;
    at.phase = 1;
  }
  for (; index < tiles; index += gridDim.x, step = 0) {
    const Tile tile(index, tiles_m);
#pragma unroll 1
    for (; step < kSteps; step++) {
      barrier_wait(ring.empty + 8 * at.stage, at.phase ^ 1);
      request_w(step, tile.n);
      request_a(step, tile.m);
      at.advance();
    }
  }
}

FN void consume(const Slots& c, const Ring& ring, i32 rows, i32 tiles_m) {
  const i32 group = threadIdx.x / 128 - 1, thread = threadIdx.x % 128, lane = thread % 32, warp = thread / 32;
  const i32 first_row = kPingPong ? 0 : group * kBlocks * 64;  // in the tile
  const i32 tiles = tiles_m * kTilesN;
  const u32 blocks = ring.blocks + (group * 4 + warp) * kWarpBlocks * kBlockBytes;
  const u32 columns = ring.columns + (group * 4 + warp) * kColumnLoads * kTileN * 4;
  wait_for_producers();
  if (kPingPong && group == 1) asm volatile("bar.arrive 1, 256;" ::: "memory");
  u32 steps = 0;  // of all tiles so far
  i32 turn = 0;
  for (i32 index = blockIdx.x; index < tiles; index += gridDim.x, turn++, steps += kSteps) {
    if (kPingPong && turn % 2 != group) continue;
    const Tile tile(index, tiles_m);
    const i32 m0 = tile.m + first_row + warp * 16;
    request_columns(columns, c, tile.n, lane);
    if (kTileLoads > 0) request_block<(kTileN < 64 ? kTileN : 64)>(blocks, c, m0, tile.n, rows, lane);
    Cursor at;
    at.stage = steps % kStages;
    at.phase = steps / kStages % 2;
    u32 last = 0;
    float d[kBlocks][kTileN / 2];
    if (kPingPong) asm volatile("bar.sync %0, 256;" ::"r"(1 + group) : "memory");
#pragma unroll 1
    for (i32 step = 0; step < kSteps; step++) {
      barrier_wait(ring.full + 8 * at.stage, at.phase);
      const u64 a = descriptor(ring.a + at.stage * kStageA + first_row * 128);
      const u64 w = descriptor(ring.w + at.stage * kStageW);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (i32 k = 0; k < 4; k++)
#pragma unroll
        for (i32 i = 0; i < kBlocks; i++) wgmma(d[i], a + i * 512 + k * 2, w + k * 2, (step | k) != 0);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      if (step > 0 && thread == 0) barrier_arrive(ring.empty + 8 * last);
      last = at.stage;
      at.advance();
    }
    if (kPingPong) asm volatile("bar.arrive %0, 256;" ::"r"(2 - group) : "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (i32 i = 0; i < kBlocks; i++) pin(d[i]);
    if (thread == 0) barrier_arrive(ring.empty + 8 * last);
    if (kTileLoads == 0 && kColumnLoads > 0) {
      end_copies();
      wait_for_copies<0>();
      __syncwarp();
    }
    const u32 column0 = columns - tile.n * 4;
    finish_rows<kTileN, 0, 64, (kBlocks > 1)>(d[0], blocks, column0, c, m0, tile.n, rows, lane);
    if constexpr (kBlocks > 1)
      finish_rows<kTileN, blocks_of(kTileN) % 2, 64, false>(d[1], blocks, column0, c, m0 + 64, tile.n, rows, lane);
  }
}

FN void gemm(const TMap& map_a, const TMap& map_w, i32 rows, const Slots& c) {
  extern __shared__ char shared[];
  launch_dependents();
  const Ring ring(shared_address(shared));
  const i32 tiles_m = (rows + kTileM - 1) / kTileM;
  if (threadIdx.x == 32) {
    prefetch_map(map_a);
    prefetch_map(map_w);
  }
  if (threadIdx.x == 0) {
    for (i32 i = 0; i < kStages; i++) {
      barrier_init(ring.full + 8 * i, 1);
      barrier_init(ring.empty + 8 * i, kPingPong ? 1 : kGroups);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  // 128 * 24 + 256 * 240 = 384 * 168, what the CTA's registers are at launch.
  if (threadIdx.x < 128) {
    if (kGroups == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == 0) produce(map_a, map_w, ring, tiles_m);
  } else {
    if (kGroups == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    consume(c, ring, rows, tiles_m);
    end_stores<kBulkStores>();
  }
}
