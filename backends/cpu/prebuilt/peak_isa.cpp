// `edge.fma_peak.f32`: the register-only multiply-add rate, the yardstick of `edge-infer bench`.
#include "backends/cpu/prebuilt/tables.h"
#include "backends/cpu/prebuilt/vec.h"

namespace edge_infer::EDGE_ISA {
namespace {

// Rows are rounds of one multiply-add on each of twelve independent chains. out[0] gets a sum that keeps the
// work alive, out[1] the floating-point operations of one round.
void fma_peak(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  constexpr int kChains = 12;
  auto* out = static_cast<float*>(args->buffers[0]);
  f32p chain[kChains];
  const f32p x = 1.0001F - f32p{}, y = 0.5F - f32p{};
  EDGE_UNROLL for (int i = 0; i < kChains; ++i) chain[i] = static_cast<float>(i) - f32p{};
  EDGE_ROLLED for (int64_t round = m0; round < m1; ++round) EDGE_UNROLL for (int i = 0; i < kChains; ++i)
      chain[i] = fma_part(chain[i], x, y);
  EDGE_UNROLL for (int i = 0; i < kChains; ++i) out[0] += chain[i][0];
  out[1] = static_cast<float>(kChains * kPartLanes * 2);
}

constexpr PrebuiltKernel kTable[] = {{"edge.fma_peak.f32", fma_peak, 0}};

}  // namespace

std::span<const PrebuiltKernel> peak_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
