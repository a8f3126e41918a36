// Schedules of gemm_amx.c and gemm_bf16.c, behind the interface of gemm_schedule.h. All schedules of a
// problem give the same bits: its class decides them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/templates/gemm_schedule.h"

namespace edge_infer {

// "f32.k1", "bf16.f32", "bf16.dp2", "bf16.amx32".
std::string_view gemm_class_name(GemmClass accumulation);
// The packed format of weights that the class reads: "nk.f32.p32", "nk.bf16.p16", "nk.bf16.amx32".
std::string gemm_packed_format(GemmClass accumulation, int panel);

namespace bf16 {

std::vector<GemmSchedule> schedules(const GemmProblem& problem);
int64_t scratch_bytes(const GemmSchedule& schedule, const GemmProblem& problem);
// #define lines, without GEMM_SCRATCH_BYTES.
std::string defines(const GemmSchedule& schedule, const GemmProblem& problem);

}  // namespace bf16
}  // namespace edge_infer
