// Schedules of gemm.c: the constants that decide in which order and tiles it computes, never what. All
// schedules of a problem give the same bits (class f32.k1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

// What decides the bits of a product (gemm_bf16_schedule.h names them): gemm.c; gemm_bf16.c, widened or in
// pairs; gemm_amx.c.
enum class GemmClass { kF32, kBF16F32, kBF16Dp2, kBF16Amx };

struct GemmProblem {
  int64_t n = 0, k = 0;
  int panel = 16;                  // columns of a packed panel: 32 on avx512, else 16
  bool whole_rows = false;         // statements before or after the gemm: GEMM_HAS_BEFORE or GEMM_HAS_ROW
  bool fused_multiply_add = true;  // false: the portable target, with registers of four lanes
  GemmClass accumulation = GemmClass::kF32;
};

struct GemmSchedule {
  int tile_rows = 0, tile_columns = 0;
  int k_block = 0;  // 0: k in one part
  int row_block =
      96;  // rows that one panel sweeps over before the next, and that whole_rows kernels finish together

  friend bool operator==(const GemmSchedule&, const GemmSchedule&) = default;
  std::string text() const;  // "tile=12x32;kb=0;rb=96"
  // #define lines of gemm.c, GEMM_SCRATCH_BYTES included.
  std::string defines(const GemmProblem& problem) const;
  // Scratch that the template uses, a multiple of 64; slots have theirs behind it.
  int64_t scratch_bytes(const GemmProblem& problem) const;
};

// Candidates for tuning, the default first, at most 8.
std::vector<GemmSchedule> gemm_schedules(const GemmProblem& problem);
// Reads text() and "" (the default). Errors: kInvalidArgument for other text and for a tile that gemm.c does
// not have for this panel.
Result<GemmSchedule> parse_gemm_schedule(std::string_view text, const GemmProblem& problem);

}  // namespace edge_infer
