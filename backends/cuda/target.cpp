#include "backends/cuda/target.h"

namespace edge_infer::cuda {
namespace {

struct Capability {
  std::string_view variant;
  int major, minor;
};

constexpr std::array<Capability, 7> kCapabilities = {{{"sm_80", 8, 0},
                                                      {"sm_86", 8, 6},
                                                      {"sm_89", 8, 9},
                                                      {"sm_90", 9, 0},
                                                      {"sm_90a", 9, 0},
                                                      {"sm_100", 10, 0},
                                                      {"sm_120", 12, 0}}};

}  // namespace

Target cuda_target(std::string_view variant) {
  Target target;
  target.name = fmt::format("cuda.{}", variant.empty() ? "sm_90a" : variant);
  target.vector_bytes = 16;
  target.packed_linear_format = "nk.f16";
  target.attention_block_rows = 64;
  target.pack_tokens = 16'384;
  target.has_prebuilt = false;
  target.splits_rows = false;
  target.narrow_temps = true;
  return target;
}

bool variant_runs_on(std::string_view variant, int major, int minor) {
  for (const Capability& c : kCapabilities) {
    if (c.variant != variant || c.major != major) continue;
    return variant.ends_with('a') ? c.minor == minor : c.minor <= minor;
  }
  return false;
}

Result<std::string_view> variant_of(int major, int minor) {
  std::string_view best;
  for (const Capability& c : kCapabilities)
    if (variant_runs_on(c.variant, major, minor)) best = c.variant;
  if (best.empty())
    return fail(ErrorCode::kUnsupported, "compute capability {}.{}, expected 8.x, 9.x, 10.x or 12.x", major,
                minor);
  return best;
}

ClockRates clock_rates(int major, int minor) {
  switch (major) {
    case 8:
      // The data centre's part, then those of desktops, whose tensor cores sum f32 at half their f16 rate.
      return minor == 0 ? ClockRates{128, 2048} : ClockRates{256, 512};
    case 9:
      return {256, 4096};
    case 10:
      return {256, 8192};
    case 12:
      return {256, 512};
    default:
      return {};
  }
}

}  // namespace edge_infer::cuda
