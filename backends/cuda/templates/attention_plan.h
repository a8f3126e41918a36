// How a loop::Attention nest is computed on a target: which of the three sources, and its numbers.
#pragma once

#include <cstdint>
#include <string_view>

#include "backends/cuda/codegen/cuda_target.h"
#include "backends/cuda/launch.h"
#include "compiler/codegen/code_generator.h"
#include "compiler/loop/loop_nest.h"
#include "runtime/base/error.h"

namespace edge_infer::cuda {

enum class AttentionForm {
  kWgmma,  // attention_wgmma.cu: f16 and bf16, head dims 32, 64, 96, 128
  kMma,    // attention_mma.cu: f16 and bf16, head dims in multiples of 16 up to 128
  kSimt,   // attention_simt.cu: any floating type and head dim that shared memory holds
};

struct AttentionPlan {
  AttentionForm form = AttentionForm::kSimt;
  const loop::Attention* attention = nullptr;  // of the nest
  int32_t count = -1;                          // the nest's symbol that counts the units
  int32_t resident = 1;                        // CTAs that registers and shared memory let stay on an SM
  int32_t warp_rows = 0;                       // kSimt: query rows of a warp
  bool is_f64 = false;                         // kSimt: arithmetic in double
  CudaLaunch launch;
  // How many grids of resident CTAs the own choice has: two let the hardware even out what CTAs do, which on
  // an H200 was 1 % slower to 4 % faster (docs/cuda_attention.md); the other forms were not timed.
  int32_t rounds() const { return form == AttentionForm::kWgmma ? 2 : 1; }
};

// The form follows from nest and target alone, so that an op has one accumulation class; the schedule says
// how many CTAs an SM is given: "grid=5". Empty: rounds() times as many as stay resident. Errors:
// kUnsupported with the reason, kInvalidArgument for a schedule that is none.
Result<AttentionPlan> plan_attention(const loop::LoopNest& nest, std::string_view schedule,
                                     const CudaTarget& target);

}  // namespace edge_infer::cuda
