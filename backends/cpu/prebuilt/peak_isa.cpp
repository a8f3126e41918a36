// `edge.fma_peak.<what>`: the register-only multiply-add rate of f32, or of products of an accumulation class
// that has instructions of its own: the yardstick of `edge-infer bench`. The latter run only where the class
// is compiled for (tiles: after request_amx()).
#include "backends/cpu/prebuilt/tables.h"
#include "backends/cpu/prebuilt/vec.h"

namespace edge_infer::EDGE_ISA {
namespace {

// Of each: rows are rounds, of one multiply-add on each of twelve independent chains here. out[0] gets a sum
// that keeps the work alive, out[1] the floating-point operations of one round.
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

#if defined(__AVX512F__)
// Assembler text, because the set is not compiled for what only some of its processors have.
void pair_peak(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  using Pairs = float __attribute__((vector_size(64)));
  constexpr int kChains = 12, kLanes = 16;
  auto* out = static_cast<float*>(args->buffers[0]);
  Pairs chain[kChains] = {};
  const Pairs x = {};
  EDGE_ROLLED for (int64_t round = m0; round < m1; ++round)
      EDGE_UNROLL for (int i = 0; i < kChains;
                       ++i) __asm__ volatile("vdpbf16ps %1, %1, %0" : "+v"(chain[i]) : "v"(x));
  EDGE_UNROLL for (int i = 0; i < kChains; ++i) out[0] += chain[i][0];
  out[1] = static_cast<float>(kChains * kLanes * 2 * 2);
}

// Products of tiles of 16 x 32 and 32 x 16 into four of sums: enough to hide an instruction's latency.
void tile_peak(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  struct Tiles {
    uint8_t palette = 1, start = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  const Tiles tiles;  // all of them begin at 0
  auto* out = static_cast<float*>(args->buffers[0]);
  __asm__ volatile("ldtilecfg %0" ::"m"(tiles));
  for (int64_t round = m0; round < m1; ++round)
    __asm__ volatile(
        "tdpbf16ps %tmm6, %tmm4, %tmm0\n\ttdpbf16ps %tmm7, %tmm4, %tmm1\n\t"
        "tdpbf16ps %tmm6, %tmm5, %tmm2\n\ttdpbf16ps %tmm7, %tmm5, %tmm3");
  __asm__ volatile("tilerelease");
  out[1] = 4 * 16 * 16 * 32 * 2;
}
#else
// Nothing is compiled for these classes on such processors; every set has the same names.
constexpr KernelFn pair_peak = fma_peak, tile_peak = fma_peak;
#endif

constexpr PrebuiltKernel kTable[] = {
    {"edge.fma_peak.f32", fma_peak, 0},
    {"edge.fma_peak.bf16.dp2", pair_peak, 0},
    {"edge.fma_peak.bf16.amx32", tile_peak, 0},
};

}  // namespace

std::span<const PrebuiltKernel> peak_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
