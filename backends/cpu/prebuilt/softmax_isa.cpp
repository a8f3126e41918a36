// aten.softmax, aten.log_softmax along a dimension: in [outer, length, inner]; rows are (outer, inner) pairs.
// Every row is summed in the class's order (element i to lane i mod 16, ascending, lanes folded by halves),
// whether the dimension is the last one or not.
#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/registry.h"
#include "backends/cpu/prebuilt/tables.h"
#include "backends/cpu/prebuilt/vmath.h"

namespace edge_infer::EDGE_ISA {
namespace {

constexpr float kNegativeInfinity = -__builtin_inff();

// A NaN may be missed by the maximum: then the sum is NaN, and every element of the row with it.
template <bool kLog>
EDGE_INLINE void contiguous_row(const float* in, float* out, int64_t n) {
  F32 top = splat(kNegativeInfinity);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) top = max_or_second(top, load(in + i));
  if (i < n) top = select(first_lanes(n - i), max_or_second(top, load(in + i, n - i)), top);
  const F32 m = splat(fold_largest(top));
  F32 total = zeros();
  for (i = 0; i + kLanes <= n; i += kLanes) {
    const F32 e = exp(load(in + i) - m);
    if constexpr (!kLog) store(out + i, e);
    total += e;
  }
  if (i < n) {
    const F32 e = exp(load(in + i, n - i) - m);
    if constexpr (!kLog) store(out + i, e, n - i);
    total += select(first_lanes(n - i), e, zeros());
  }
  const F32 factor = splat(1.0F / fold_sum(total));
  const F32 log_sum = splat(kLog ? __builtin_logf(fold_sum(total)) : 0.0F);
  for (i = 0; i + kLanes <= n; i += kLanes)
    store(out + i, kLog ? load(in + i) - m - log_sum : load(out + i) * factor);
  if (i < n) store(out + i, kLog ? load(in + i, n - i) - m - log_sum : load(out + i, n - i) * factor, n - i);
}

// `count` <= 16 neighbouring rows of the inner dimension at once, one a lane.
template <bool kLog>
EDGE_INLINE void strided_rows(const float* in, float* out, int64_t length, int64_t inner, int64_t count) {
  F32 m = splat(kNegativeInfinity);
  for (int64_t i = 0; i < length; ++i) m = max_or_second(m, load(in + i * inner, count));
  F32 lanes[kLanes];
  for (F32& lane : lanes) lane = zeros();
  for (int64_t i = 0; i < length; ++i) {
    const F32 e = exp(load(in + i * inner, count) - m);
    if constexpr (!kLog) store(out + i * inner, e, count);
    lanes[i % kLanes] += e;
  }
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  alignas(64) float sums[kLanes];
  store(sums, lanes[0]);
  if constexpr (kLog)
    for (float& sum : sums) sum = __builtin_logf(sum);
  const F32 sum = load(sums), factor = splat(1.0F) / sum;
  for (int64_t i = 0; i < length; ++i) {
    float* o = out + i * inner;
    store(o, kLog ? load(in + i * inner, count) - m - sum : load(o, count) * factor, count);
  }
}

template <bool kLog>
void softmax(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  float* out = output<float>(args, 0);
  const float* in = input<float>(args, 1);
  const int64_t length = integer(args, 1), inner = integer(args, 2);
  if (inner == 1) {
    for (int64_t row = m0; row < m1; ++row)
      contiguous_row<kLog>(in + row * length, out + row * length, length);
    return;
  }
  for (int64_t row = m0; row < m1;) {
    const int64_t column = row % inner;
    const int64_t count = smaller<int64_t>(smaller<int64_t>(kLanes, inner - column), m1 - row);
    const int64_t base = row / inner * length * inner + column;
    strided_rows<kLog>(in + base, out + base, length, inner, count);
    row += count;
  }
}

constexpr PrebuiltKernel kTable[] = {
    {"aten.softmax.f32", softmax<false>},
    {"aten.log_softmax.f32", softmax<true>},
};

}  // namespace

std::span<const PrebuiltKernel> softmax_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
