// aten.layer_norm.f32 and edge.rms_norm.f32 over rows of n: sums over sixteen lanes, and for LayerNorm two
// sweeps, the mean first, then the squared distances from it.
#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/registry.h"
#include "backends/cpu/prebuilt/tables.h"

namespace edge_infer::EDGE_ISA {
namespace {

// Rows that are summed side by side, so that their chains of additions overlap.
constexpr int kTogether = 4;

// sums[r] = the folded sum over row r of f(element, mean[r]) as the class orders it.
template <int R, class F>
EDGE_INLINE void sum_rows(const float* in, int64_t n, const F32 (&shift)[R], float (&sums)[R], F f) {
  F32 total[R];
  EDGE_UNROLL for (int r = 0; r < R; ++r) total[r] = zeros();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    EDGE_UNROLL for (int r = 0; r < R; ++r) total[r] = f(total[r], load(in + r * n + i), shift[r]);
  if (i < n) {
    const Mask valid = first_lanes(n - i);
    EDGE_UNROLL for (int r = 0; r < R; ++r) total[r] =
        select(valid, f(total[r], load(in + r * n + i, n - i), shift[r]), total[r]);
  }
  EDGE_UNROLL for (int r = 0; r < R; ++r) sums[r] = fold_sum(total[r]);
}

template <bool kCentered, int R>
EDGE_NOINLINE void norm_rows(const float* in, float* out, int64_t n, double eps, const float* gamma,
                             const float* beta) {
  F32 shift[R], factor[R];
  float sums[R];
  EDGE_UNROLL for (int r = 0; r < R; ++r) shift[r] = zeros();
  const auto count = static_cast<float>(n);
  if constexpr (kCentered) {
    sum_rows<R>(in, n, shift, sums,
                [](F32 total, F32 x, F32) __attribute__((always_inline)) { return total + x; });
    EDGE_UNROLL for (int r = 0; r < R; ++r) shift[r] = splat(sums[r] / count);
  }
  sum_rows<R>(in, n, shift, sums, [](F32 total, F32 x, F32 mean) __attribute__((always_inline)) {
    const F32 d = x - mean;
    return fma(d, d, total);
  });
  EDGE_UNROLL for (int r = 0; r < R; ++r) factor[r] =
      splat(static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(sums[r] / count) + eps)));
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t lanes = smaller<int64_t>(kLanes, n - i);
    const F32 scale = gamma == nullptr  ? splat(1.0F)
                      : lanes == kLanes ? load(gamma + i)
                                        : load(gamma + i, lanes);
    const F32 offset = beta == nullptr ? zeros() : lanes == kLanes ? load(beta + i) : load(beta + i, lanes);
    EDGE_UNROLL for (int r = 0; r < R; ++r) {
      const float* p = in + r * n + i;
      const F32 x = lanes == kLanes ? load(p) : load(p, lanes);
      const F32 y = (x - shift[r]) * factor[r];
      const F32 result = kCentered ? fma(y, scale, offset) : y * scale;
      if (lanes == kLanes)
        store(out + r * n + i, result);
      else
        store(out + r * n + i, result, lanes);
    }
  }
}

template <bool kCentered>
void norm(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  float* out = output<float>(args, 0);
  const float* in = input<float>(args, 1);
  const float* gamma = input<float>(args, 2);
  const float* beta = kCentered ? input<float>(args, 3) : nullptr;
  const int64_t n = integer(args, 0);
  const double eps = real(args, 1);
  int64_t m = m0;
  for (; m + kTogether <= m1; m += kTogether)
    norm_rows<kCentered, kTogether>(in + m * n, out + m * n, n, eps, gamma, beta);
  for (; m < m1; ++m) norm_rows<kCentered, 1>(in + m * n, out + m * n, n, eps, gamma, beta);
}

constexpr PrebuiltKernel kTable[] = {
    {"aten.layer_norm.f32", norm<true>},
    {"edge.rms_norm.f32", norm<false>},
};

}  // namespace

std::span<const PrebuiltKernel> norm_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
