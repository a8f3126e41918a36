#include "backends/cpu/prebuilt/vec.h"

namespace edge_infer::EDGE_ISA {

// Twelve independent chains of fma for `rounds` rounds: the register-only peak. Returns the operations done.
int64_t fma_peak(int64_t rounds, float* sink) {
  constexpr int kChains = 12;
  f32p chain[kChains];
  const f32p x = 1.0001F - f32p{}, y = 0.5F - f32p{};
  EDGE_UNROLL for (int i = 0; i < kChains; ++i) chain[i] = static_cast<float>(i) - f32p{};
  EDGE_ROLLED for (int64_t round = 0; round < rounds; ++round) EDGE_UNROLL for (int i = 0; i < kChains; ++i)
      chain[i] = fma_part(chain[i], x, y);
  EDGE_UNROLL for (int i = 0; i < kChains; ++i)* sink += chain[i][0];
  return rounds * kChains * kPartLanes * 2;
}

}  // namespace edge_infer::EDGE_ISA
