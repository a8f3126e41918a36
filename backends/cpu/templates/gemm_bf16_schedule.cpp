#include "backends/cpu/templates/gemm_bf16_schedule.h"

#include <fmt/format.h>

namespace edge_infer {
namespace {

constexpr int64_t round_up(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

std::string_view gemm_class_name(GemmClass accumulation) {
  switch (accumulation) {
    case GemmClass::kF32:
      return "f32.k1";
    case GemmClass::kBF16F32:
      return "bf16.f32";
    case GemmClass::kBF16Dp2:
      return "bf16.dp2";
    case GemmClass::kBF16Amx:
      return "bf16.amx32";
  }
  return "";
}

std::string gemm_packed_format(GemmClass accumulation, int panel) {
  if (accumulation == GemmClass::kBF16Amx) return "nk.bf16.amx32";
  return fmt::format("nk.{}.p{}", accumulation == GemmClass::kF32 ? "f32" : "bf16", panel);
}

namespace bf16 {

std::vector<GemmSchedule> schedules(const GemmProblem& problem) {
  std::vector<GemmSchedule> list;
  if (problem.accumulation == GemmClass::kBF16Amx) {
    for (const int rows : {128, 64, 256}) list.push_back({32, 32, 0, rows});
    return list;
  }
  const int height = !problem.fused_multiply_add ? 3 : problem.panel == 32 ? 12 : 6;
  for (const int rows : {96, 48, 192}) list.push_back({height, problem.panel, 0, rows});
  return list;
}

// As the templates lay it out: sums, then the rows of a block.
int64_t scratch_bytes(const GemmSchedule& schedule, const GemmProblem& problem) {
  if (problem.accumulation == GemmClass::kBF16Amx)
    return 2 * 4096 + round_up(schedule.row_block, 32) / 16 * round_up(problem.k, 32) / 32 * 1024;
  const int64_t sums = int64_t{schedule.tile_rows} * problem.panel;
  const int64_t words = problem.accumulation == GemmClass::kBF16Dp2 ? (problem.k + 1) / 2 : problem.k;
  return (sums + round_up(schedule.row_block, schedule.tile_rows) * round_up(words, 16)) * 4;
}

std::string defines(const GemmSchedule& schedule, const GemmProblem& problem) {
  std::string text =
      fmt::format("#define GEMM_TILE_M {}\n#define GEMM_ROW_BLOCK {}\n#define GEMM_WHOLE_ROWS {}\n",
                  schedule.tile_rows, schedule.row_block, problem.whole_rows ? 1 : 0);
  if (problem.accumulation != GemmClass::kBF16Amx)
    text += fmt::format("#define GEMM_PAIRS {}\n", problem.accumulation == GemmClass::kBF16Dp2 ? 1 : 0);
  return text;
}

}  // namespace bf16
}  // namespace edge_infer
