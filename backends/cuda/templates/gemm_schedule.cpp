#include "backends/cuda/templates/gemm_schedule.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

namespace edge_infer::cuda {
namespace {

constexpr std::array kTiles = {
    GemmTile{"p128s4", true, 128, 128, 2, 2, true, 4, 1},
    GemmTile{"p128s5", true, 128, 128, 2, 2, true, 5, 1},
    GemmTile{"p128s6", true, 128, 128, 2, 2, true, 6, 1},
    GemmTile{"p144", true, 128, 144, 2, 2, true, 4, 1},
    GemmTile{"p176", true, 128, 176, 2, 2, true, 4, 1},
    GemmTile{"p192", true, 128, 192, 2, 2, true, 4, 1},
    GemmTile{"c256", true, 128, 256, 1, 2, false, 4, 1},
    GemmTile{"c192", true, 128, 192, 1, 2, false, 5, 1},
    GemmTile{"c128", true, 128, 128, 1, 2, false, 6, 1},
    GemmTile{"c96", true, 128, 96, 1, 2, false, 6, 1},
    GemmTile{"c64", true, 128, 64, 1, 2, false, 8, 1},
    GemmTile{"s64", true, 64, 64, 1, 1, false, 6, 2},
    GemmTile{"s48", true, 64, 48, 1, 1, false, 7, 2},
    GemmTile{"s32", true, 64, 32, 1, 1, false, 8, 2},
    GemmTile{"m128s2", false, 128, 128, 0, 0, false, 2, 2},
    GemmTile{"m128s3", false, 128, 128, 0, 0, false, 3, 2},
    GemmTile{"m128s4", false, 128, 128, 0, 0, false, 4, 1},
    GemmTile{"m64s3", false, 64, 64, 0, 0, false, 3, 3},
    GemmTile{"m64s4", false, 64, 64, 0, 0, false, 4, 3},
};
constexpr std::string_view kPrefix = "tile=";
constexpr size_t kMostCandidates = 8;
constexpr int kReserved = 1024;        // shared memory that the driver takes of each CTA
constexpr int kMultiprocessors = 132;  // of an H200; others are near enough for the choice

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Estimated time in units of one 64 x 64 x 64 product of an SM. Its constants are fitted to the tiles that
// were fastest on an H200 at 60 shapes (gpu_measured.md, with programmatic launches).
// `gpu_check gemm-speed` and `gpu_check tune` print its choices beside the best tiles.
double estimate(const GemmTile& tile, const TileFit& fits, const GemmShape& shape) {
  constexpr double kLeastStep = 2.2, kStart = 10, kPerTile = 0.005, kSharedMemory = 0.2;
  const int64_t tiles = ceil_div(shape.rows, tile.rows) * ceil_div(shape.n, tile.columns);
  const int64_t places = int64_t{kMultiprocessors} * fits.per_sm;
  const auto together =
      static_cast<double>(std::min<int64_t>(fits.per_sm, ceil_div(tiles, kMultiprocessors)));
  const double area = tile.rows * tile.columns / 4096.0, operands = (tile.rows + tile.columns) / 128.0;
  double busy = area;
  if (tile.wgmma && tiles > places) {
    // What moves through shared memory in a step at its 128 bytes a cycle: the operands once in, and once out
    // for each m64 block. Part of what takes longer than the products is seen where tiles follow one another;
    // a single round waits for other things.
    const double moved = operands + tile.rows / 64.0 * (64 + tile.columns) / 128.0;
    busy += kSharedMemory * std::max(0.0, moved - area);
  }
  // A step waits for its operands, or for as many bytes as it takes.
  const double step = std::max(kLeastStep, together * std::max(busy, operands));
  // Of further rounds, the epilogue hides where warpgroups take turns.
  const double exposed = tiles <= places ? 0.7 : tile.ping_pong ? 0.4 : 1.5;
  const double round = static_cast<double>(ceil_div(shape.k, 64)) * step + together * area * exposed;
  return static_cast<double>(ceil_div(tiles, places)) * round + kStart +
         static_cast<double>(tiles) * kPerTile;
}

const GemmTile* named(std::string_view name) {
  const auto* found = std::ranges::find(kTiles, name, &GemmTile::name);
  return found == kTiles.end() ? nullptr : found;
}

}  // namespace

bool stores_in_bulk(const GemmTile& tile, const EpilogueSpace& space) {
  return tile.ping_pong && space.results_only && space.blocks > 0;
}

std::optional<TileFit> fit(const GemmTile& tile, const EpilogueSpace& space, const CudaTarget& target) {
  // Wide sums leave registers for one staged block, the widest for nothing but its results.
  if (tile.wgmma && tile.blocks * tile.columns > 256 && space.blocks > 1) return std::nullopt;
  if (tile.wgmma && tile.blocks * tile.columns > 320 && !stores_in_bulk(tile, space)) return std::nullopt;
  const int stage = (tile.rows + tile.columns) * 128,
            blocks = space.blocks * (stores_in_bulk(tile, space) ? 2 : 1),
            epilogue = tile.warps() * (blocks * 2048 + space.columns * tile.columns * 4);
  for (int per_sm = tile.per_sm; per_sm > 0; --per_sm) {
    const int most = (target.shared_bytes + kReserved) / per_sm - kReserved;
    for (int stages = tile.stages; stages >= std::max(2, tile.stages - (per_sm > 1 ? 2 : 4)); --stages) {
      const int shared =
          tile.wgmma ? 1024 + stages * (stage + 16) + epilogue : 128 + std::max(stages * stage, epilogue);
      if (shared <= most) return TileFit{.stages = stages, .per_sm = per_sm, .shared_bytes = shared};
      // The number of stages is what some tiles differ in.
      if (!tile.wgmma || (tile.ping_pong && tile.columns == 128)) break;
    }
  }
  return std::nullopt;
}

std::vector<const GemmTile*> gemm_tiles(const GemmShape& shape, const CudaTarget& target) {
  struct Choice {
    const GemmTile* tile;
    double cost;
  };
  std::vector<Choice> choices;
  for (const GemmTile& tile : kTiles) {
    if (tile.wgmma != shape.wgmma) continue;
    const std::optional<TileFit> fits = fit(tile, shape.space, target);
    if (!fits) continue;
    double cost = estimate(tile, *fits, shape);
    // More stages hide latency where k is long, and only cost time to fill where it is short.
    if (tile.ping_pong) cost *= 1 + 0.002 * std::abs(fits->stages - (shape.k >= 3072 ? 6 : 5));
    if (!tile.wgmma && fits->stages < (target.capability >= 90 ? 2 : 3)) cost *= 1.02;
    choices.push_back({&tile, cost});
  }
  std::ranges::stable_sort(choices, {}, &Choice::cost);
  if (choices.size() > kMostCandidates) choices.resize(kMostCandidates);
  std::vector<const GemmTile*> tiles;
  for (const Choice& choice : choices) tiles.push_back(choice.tile);
  return tiles;
}

Result<const GemmTile*> parse_gemm_schedule(const Schedule& text, const GemmShape& shape,
                                            const CudaTarget& target) {
  if (text.empty()) return gemm_tiles(shape, target).front();
  const std::string_view all = text;
  const GemmTile* tile = all.starts_with(kPrefix) ? named(all.substr(kPrefix.size())) : nullptr;
  if (tile == nullptr)
    return fail(ErrorCode::kInvalidArgument, "gemm schedule \"{}\", expected tile=NAME", text);
  if (tile->wgmma != shape.wgmma || !fit(*tile, shape.space, target))
    return fail(ErrorCode::kInvalidArgument, "gemm schedule \"{}\" does not fit {}", text,
                target.architecture);
  return tile;
}

Schedule gemm_schedule_text(const GemmTile& tile) {
  return fmt::format("{}{}", kPrefix, tile.name);
}

}  // namespace edge_infer::cuda
