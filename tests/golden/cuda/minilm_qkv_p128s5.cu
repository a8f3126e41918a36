// launch threads=384 shared=201808 per_sm=1 cluster=1 tile=128x128 waits=1 map=0:f16:384:64x128:s128 map=1:f16:384:64x128:s128 map=3:f16:1152:64x16:s128
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


#define FN __device__ __forceinline__
// Elements of 16 bits in pairs, and erf at their grade.

inline i32 least(i32 a, i32 b) { return a < b ? a : b; }

// From shared memory.
inline float2 load_pair(u32 address) {
  float2 x;
  asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];" : "=f"(x.x), "=f"(x.y) : "r"(address) : "memory");
  return x;
}

inline u32 f16_from_pair(float2 x) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(x.y), "f"(x.x));
  return r;
}


constexpr i32 kN = 1152, kK = 384;
constexpr i32 kTileN = 128, kStages = 5, kRaster = 8;
constexpr i32 kTileLoads = 0, kTileStores = 1, kColumnLoads = 1;
constexpr bool kBulkStores = true;
constexpr i32 kBlocks = 2, kGroups = 2, kOffsetA = 0;
constexpr bool kPingPong = true;

// What the epilogue reads and writes.
struct Slots {
  const float* b2;
  u16* b3;
  const TMap* map0;
};
// Where staged operands and results lie.
FN const float* column_operand(const Slots& c, i32 operand, i32 n) {
  return c.b2 + n;
}
FN const u16* tile_operand(const Slots& c, i32 tile, i32 m, i32 n) {
  return 0;
}
FN u16* tile_result(const Slots& c, i32 tile, i32 m, i32 n) {
  return c.b3 + (i64)m * 1152 + n;
}
FN const TMap* result_map(const Slots& c, i32 tile) {
  return c.map0;
}
FN i32 result_column(i32 tile, i32 n) {
  return n + 0;
}
// One element: row m, column i1.
FN void element(const Slots& c, i64 m, i64 i1, float sum, float x0, float& y0) {
  y0 = sum + x0;
}
// Columns n and n + 1 of rows m and m + 8: sums v, staged operands and results in[.][h] and [h + 1].
FN void epilogue(const Slots& c, i32 m, i32 n, i32 rows, const float* v, const u32 (*in)[4],
                 u32 (*out)[4], i32 h, u32 columns) {
  const i32 n0 = n, n1 = n + 1;
  const float2 x0 = load_pair(columns + 0 * kTileN * 4 + n0 * 4);
  #pragma unroll
  for (i32 r = 0; r < 2; r++) {
    const i32 m0 = least(m + r * 8, rows - 1);
    float2 y0;
    element(c, m0, n0, v[r * 2 + 0], x0.x, y0.x);
    element(c, m0, n1, v[r * 2 + 1], x0.y, y0.y);
    out[0][h + r] = f16_from_pair(y0);
  }
}

// d = a w^T (+ d), 64 x 128 x 16; a and w are descriptors.
FN void wgmma(float (&d)[64], u64 a, u64 w, u32 accumulate) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
               "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
               "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
               "%64, %65, p, 1, 1, 0, 0;}"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                 "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                 "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                 "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                 "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                 "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                 "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
               : "l"(a), "l"(w), "r"(accumulate));
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

extern "C" __global__ void __launch_bounds__(kThreads, 1) k(const i64* n, const u16* b0, const u16* b1, const float* b2, u16* b3, const __grid_constant__ TMap map0, const __grid_constant__ TMap map1, const __grid_constant__ TMap map2) {
  const i64 s0 = n[0];
  const Slots slots = {b2, b3, &map2};
  gemm(map0, map1, (i32)(s0), slots);
}
