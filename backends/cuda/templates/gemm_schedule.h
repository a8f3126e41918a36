// Tiles of the GEMM templates: constants that decide in which order and by how many threads a product is
// computed, never what: all tiles of one template give the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/cuda/codegen/cuda_target.h"
#include "compiler/codegen/code_generator.h"
#include "runtime/base/error.h"

namespace edge_infer::cuda {

// By name: "p128s5" (wgmma: two warpgroups take turns, tiles of 128 x 128, 5 stages), "c96" (they share
// a tile of 128 x 96), "s48" (one warpgroup, 64 x 48, two CTAs an SM), "m128s3" (mma.sync, 128 x 128).
struct GemmTile {
  std::string_view name;
  bool wgmma = true;
  int rows = 128, columns = 128;
  int blocks = 1, groups = 1;  // wgmma: m64 blocks of a warpgroup, warpgroups that multiply
  bool ping_pong = false;      // each has its own tile
  int stages = 4;              // at most
  int per_sm = 1;              // at most
  int warps() const { return wgmma ? groups * 4 : 4; }  // that multiply
  int threads() const { return wgmma ? 128 * (groups + 1) : 128; }
};

// Shared memory that an epilogue takes: blocks of 2 KB a warp, and f32 operands of a tile's columns a warp.
struct EpilogueSpace {
  int blocks = 1, columns = 0;
  bool results_only = false;  // the blocks hold all results, columns of rows, and no operands
};
// Whether results leave by the copy engine (gemm_epilogue.cu), from twice as many blocks: where many tiles
// follow one another, as with warpgroups that take turns.
bool stores_in_bulk(const GemmTile& tile, const EpilogueSpace& space);
// How often a tile fits into an SM.
struct TileFit {
  int stages = 0, per_sm = 0, shared_bytes = 0;
};
// nullopt where fewer than two stages fit.
std::optional<TileFit> fit(const GemmTile& tile, const EpilogueSpace& space, const CudaTarget& target);

struct GemmShape {
  int64_t n = 0, k = 0, rows = 1;
  bool wgmma = true;  // the template: that of the target, but for rows that TMA cannot read
  EpilogueSpace space{};
};
// Best first by a model of waves over the multiprocessors (gpu_measured.md has what it was made from), at
// most 8, all of which fit. Never empty.
std::vector<const GemmTile*> gemm_tiles(const GemmShape& shape, const CudaTarget& target);

// "tile=p128s5". Errors: kInvalidArgument for other text and for tiles that the shape cannot have.
Result<const GemmTile*> parse_gemm_schedule(const Schedule& text, const GemmShape& shape,
                                            const CudaTarget& target);
Schedule gemm_schedule_text(const GemmTile& tile);

}  // namespace edge_infer::cuda
