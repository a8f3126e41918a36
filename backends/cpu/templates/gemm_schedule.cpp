#include "backends/cpu/templates/gemm_schedule.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "backends/cpu/templates/gemm_bf16_schedule.h"

namespace edge_infer {
namespace {

// Floats of one tile's sums, GEMM_SUMS of gemm.c.
constexpr int64_t sums_floats(const GemmProblem& problem) {
  return problem.panel == 32 ? 24 * 16 : problem.fused_multiply_add ? 12 * 8 : 12 * 4;
}

// Rows and columns of the tile that gemm.c has for the problem.
std::pair<int, int> tile(const GemmProblem& problem) {
  if (problem.panel == 32) return {12, 32};
  if (problem.fused_multiply_add) return {6, 16};
  return {3, 16};
}

bool is_bf16(const GemmProblem& problem) {
  return problem.accumulation != GemmClass::kF32;
}

bool read_number(std::string_view& text, std::string_view before, int& number) {
  if (!text.starts_with(before)) return false;
  text.remove_prefix(before.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string GemmSchedule::text() const {
  return fmt::format("tile={}x{};kb={};rb={}", tile_rows, tile_columns, k_block, row_block);
}

int64_t GemmSchedule::scratch_bytes(const GemmProblem& problem) const {
  if (is_bf16(problem)) return bf16::scratch_bytes(*this, problem);
  const int64_t parts = k_block == 0 ? 1 : (row_block + tile_rows - 1) / tile_rows;
  return parts * sums_floats(problem) * static_cast<int64_t>(sizeof(float));
}

std::string GemmSchedule::defines(const GemmProblem& problem) const {
  if (is_bf16(problem))
    return bf16::defines(*this, problem) +
           fmt::format("#define GEMM_SCRATCH_BYTES {}\n", scratch_bytes(problem));
  return fmt::format(
      "#define GEMM_TILE_M {}\n#define GEMM_K_BLOCK {}\n#define GEMM_ROW_BLOCK {}\n#define "
      "GEMM_SCRATCH_BYTES {}\n",
      tile_rows, k_block, row_block, scratch_bytes(problem));
}

std::vector<GemmSchedule> gemm_schedules(const GemmProblem& problem) {
  if (is_bf16(problem)) return bf16::schedules(problem);
  const auto [rows, columns] = tile(problem);
  std::vector<GemmSchedule> list;
  for (const int row_block : {96, 192, 384}) list.push_back({rows, columns, 0, row_block});
  if (problem.k >= 1024) list.push_back({rows, columns, 512, 96});
  return list;
}

Result<GemmSchedule> parse_gemm_schedule(std::string_view text, const GemmProblem& problem) {
  if (text.empty()) return gemm_schedules(problem).front();
  GemmSchedule s;
  std::string_view rest = text;
  if (!read_number(rest, "tile=", s.tile_rows) || !read_number(rest, "x", s.tile_columns) ||
      !read_number(rest, ";kb=", s.k_block) || !read_number(rest, ";rb=", s.row_block) || !rest.empty())
    return fail(ErrorCode::kInvalidArgument, "gemm schedule \"{}\", expected tile=RxC;kb=N;rb=N", text);
  const GemmSchedule first = gemm_schedules(problem).front();
  if (s.tile_rows != first.tile_rows || s.tile_columns != first.tile_columns)
    return fail(ErrorCode::kInvalidArgument, "gemm schedule \"{}\": no tile {}x{} for panels of {} columns",
                text, s.tile_rows, s.tile_columns, problem.panel);
  if (s.row_block < 1 || s.row_block > 1024)
    return fail(ErrorCode::kInvalidArgument, "gemm schedule \"{}\": row block of {} rows, expected 1 to 1024",
                text, s.row_block);
  return s;
}

}  // namespace edge_infer
