// The CUDA targets: what compiler and runtime both know of a compute capability.
#pragma once

#include <array>
#include <string_view>

#include "runtime/device/device.h"

namespace edge_infer::cuda {

// "sm_90a" is the architecture of the wgmma and TMA kernels, which run on compute capability 9.0 alone.
inline constexpr std::array<std::string_view, 7> kVariants = {"sm_80",  "sm_86",  "sm_89", "sm_90",
                                                              "sm_90a", "sm_100", "sm_120"};

// The facts of "cuda.<variant>"; "" is sm_90a.
Target cuda_target(std::string_view variant);

// The best variant whose code runs on a compute capability. Errors: kUnsupported below 8.0 and for
// generations that this build makes no code for.
Result<std::string_view> variant_of(int major, int minor);
// That code of the variant runs on the capability.
bool variant_runs_on(std::string_view variant, int major, int minor);

// Floating-point operations of one multiprocessor in a clock: of plain f32 arithmetic, and of dense
// tensor-core products of f16 or bf16 with f32 sums (NVIDIA's architecture white papers; a multiply-add is
// two). Zeros for capabilities that no variant runs on.
struct ClockRates {
  int flops = 0, half_flops = 0;
};
ClockRates clock_rates(int major, int minor);

}  // namespace edge_infer::cuda
