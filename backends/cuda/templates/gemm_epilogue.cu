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
