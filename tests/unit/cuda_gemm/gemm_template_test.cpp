// What the GEMM templates take, which tiles they choose, and their text for MiniLM's products.
#include "backends/cuda/templates/gemm_template.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "backends/cuda/templates/gemm_schedule.h"
#include "compiler/loop/parse.h"
#include "tests/unit/cuda_gemm/gemm_nests.h"

namespace edge_infer::cuda {
namespace {

loop::LoopNest parse(const std::string& text) {
  Result<loop::LoopNest> nest = loop::parse_nest(text);
  EXPECT_TRUE(nest) << nest.error().message << "\n" << text;
  return nest ? *std::move(nest) : loop::LoopNest();
}
CudaTarget hopper() {
  return *CudaTarget::of("cuda.sm_90a");
}
std::string refusal(const std::string& text) {
  const Status accepted = accepts_gemm(parse(text), hopper());
  return accepted ? "accepted" : accepted.error().message;
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(GemmTemplate, SaysWhyItRefuses) {
  const NestText text;
  EXPECT_EQ(refusal(text.bias()), "accepted");
  EXPECT_EQ(refusal(replaced(text.bias(), "wgmma.k16", "mma.k16")), "class mma.k16, expected wgmma.k16");
  EXPECT_EQ(refusal(replaced(text.bias(), "a(b0[k+384*m])", "a(b0[m+384*k])")),
            "slot refused: a at 384*k+m, expected rows of k");
  EXPECT_EQ(refusal(replaced(text.bias(), "a(b0[k+384*m])", "a(-b0[k+384*m])")),
            "slot refused: a is computed, expected a buffer");
  EXPECT_EQ(refusal("nest @r class wgmma.k16 symbols(T in 1..16 hint 2)\n"
                    "    (b0: in f16[T, 64], b1: packed f16[64, 64], b2: out f16[T, 64]) {\n"
                    "  for m:T work {\n    local c0: f32[64]\n"
                    "    gemm %v0 over n:64, k:64 a(b0[k+64*m]) w(b1) {\n      c0[n] = %v0\n    }\n"
                    "    %v1 = reduce sum(c0[k1]) over k1:64\n"
                    "    for n1:64 lane {\n      b2[64*m+n1] = f16(c0[n1] / %v1)\n    }\n  }\n}\n"),
            "slot refused: row needs BN = N");
}

TEST(GemmTemplate, EqualNestsGiveEqualText) {
  const loop::LoopNest a = parse(NestText{}.gelu());
  loop::LoopNest b = a;
  b.name = "another";
  EXPECT_EQ(generate_gemm(a, "", hopper())->source.source, generate_gemm(b, "", hopper())->source.source);
}

// Tiles that were fastest on an H200, up to 3 % of them (gpu_measured.md, docs/perf/gpu.md).
TEST(GemmSchedule, ChoosesWhatWasFastest) {
  const auto tile = [](int64_t n, int64_t k, int64_t rows, EpilogueSpace space) {
    return gemm_tiles({.n = n, .k = k, .rows = rows, .space = space}, hopper()).front()->name;
  };
  constexpr EpilogueSpace kResults{.blocks = 1, .columns = 1, .results_only = true};
  constexpr EpilogueSpace kResidual{.blocks = 2, .columns = 1};
  EXPECT_EQ(tile(768, 768, 128, kResidual), "s32");
  EXPECT_EQ(tile(768, 768, 2048, kResidual), "c96");
  EXPECT_EQ(tile(768, 768, 16384, kResidual), "p128s5");
  EXPECT_EQ(tile(384, 1536, 4096, kResidual), "c96");
  EXPECT_EQ(tile(384, 1536, 8192, kResidual), "c192");
  EXPECT_EQ(tile(768, 3072, 16384, kResidual), "c256");
  EXPECT_EQ(tile(3072, 768, 512, kResults), "c96");
  EXPECT_EQ(tile(1152, 384, 512, kResults), "c64");
  EXPECT_EQ(tile(2304, 768, 16384, kResults), "p192");
  EXPECT_EQ(tile(3072, 768, 16384, kResults), "p192");
}

// The widest sums leave registers for results that are staged, and for nothing else.
TEST(GemmSchedule, TheWidestTileIsForStagedResults) {
  const NestText text{.n = 3072, .k = 768};
  const auto chosen = [&](const std::string& nest) {
    return gemm_schedule_for(*loop::parse_nest(nest), 16'384, hopper());
  };
  EXPECT_EQ(chosen(text.gelu()), "tile=p192");
  EXPECT_EQ(chosen(text.bias()), "tile=p192");
  for (const std::string& nest : {text.residual(), text.mixed()}) {
    const auto refused = generate_gemm(*loop::parse_nest(nest), "tile=p192", hopper());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(GemmSchedule, TilesFitAndAreNamed) {
  for (const char* name : {"cuda.sm_90a", "cuda.sm_80", "cuda.sm_86", "cuda.sm_90", "cuda.sm_120"}) {
    const CudaTarget target = *CudaTarget::of(name);
    for (const int blocks : {0, 1, 2, 4})
      for (const bool results_only : {false, true}) {
        const GemmShape shape{.n = 768,
                              .k = 768,
                              .rows = results_only ? 16'384 : 300,
                              .wgmma = target.has_wgmma,
                              .space = {blocks, blocks / 2, results_only}};
        const std::vector<const GemmTile*> tiles = gemm_tiles(shape, target);
        ASSERT_FALSE(tiles.empty()) << name << " " << blocks;
        EXPECT_LE(tiles.size(), 8U);
        std::set<std::string_view> names;
        for (const GemmTile* tile : tiles) {
          EXPECT_TRUE(names.insert(tile->name).second) << tile->name;
          const TileFit fits = *fit(*tile, shape.space, target);
          EXPECT_LE(fits.shared_bytes, target.shared_bytes);
          EXPECT_LE(fits.per_sm * (fits.shared_bytes + 1024), target.shared_bytes + 1024);
          EXPECT_GE(fits.stages, 2);
          EXPECT_EQ(*parse_gemm_schedule(gemm_schedule_text(*tile), shape, target), tile);
          // The ring of stages and what a warp keeps beside it.
          const int kept = stores_in_bulk(*tile, shape.space) ? 2 * blocks : blocks;
          if (!tile->wgmma) continue;
          EXPECT_GE(fits.shared_bytes, fits.stages * (tile->rows + tile->columns) * 128 +
                                           tile->warps() * (kept * 2048 + blocks / 2 * tile->columns * 4));
        }
      }
  }
  EXPECT_FALSE(parse_gemm_schedule("tile=p129", {.n = 8, .k = 8}, hopper()));
  EXPECT_FALSE(parse_gemm_schedule("tile=m64s3", {.n = 8, .k = 8}, hopper()));
}

// EDGE_INFER_UPDATE_GOLDEN=1 writes the files.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = "tests/golden/cuda/" + name;
  if (std::getenv("EDGE_INFER_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text) << path;
}

TEST(GemmTemplate, TextOfMiniLm) {
  expect_golden(
      "minilm_qkv_p128s5.cu",
      generate_gemm(parse(NestText{.n = 1152, .k = 384}.bias()), "tile=p128s5", hopper())->source.source);
  expect_golden(
      "minilm_ffn1_s48.cu",
      generate_gemm(parse(NestText{.n = 1536, .k = 384}.gelu()), "tile=s48", hopper())->source.source);
  NestText mma{.n = 384, .k = 1536};
  mma.accumulation = "mma.k16";
  expect_golden(
      "minilm_ffn2_m64s4.cu",
      generate_gemm(parse(mma.residual()), "tile=m64s4", *CudaTarget::of("cuda.sm_80"))->source.source);
}

}  // namespace
}  // namespace edge_infer::cuda
