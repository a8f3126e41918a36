// aten.argmax and argmin (NaN is the extreme, the lowest index wins, result i64), and aten.cumsum.
#include "backends/cpu/prebuilt/reduce.h"
#include "backends/cpu/prebuilt/tables.h"

namespace edge_infer::EDGE_ISA {
namespace {

// Two sweeps: the extreme value, then the first element that equals it. 0 where nothing is reduced.
template <class Op, class T>
void arg_extreme(const ReduceBlock& block, const int64_t*, void* results) {
  int64_t* out = static_cast<int64_t*>(results);
  T extremes[kBlock];
  accumulate<Op, T, T>(block, nullptr, extremes);
  for (int64_t c = 0; c < block.width; ++c) {
    out[c] = 0;
    if (block.count == 0) continue;
    const T* row =
        reinterpret_cast<const T*>(block.base) + (block.columns ? block.offsets[0] + c : block.offsets[c]);
    Walker walker = *block.reduced;
    bool found = false;
    for (int64_t at = 0; at < block.count && !found;) {
      const int64_t n = walker.run();
      const int64_t stride = walker.inner_stride();
      for (int64_t i = 0; i < n && !found; ++i) {
        const T x = row[walker.offset + i * stride];
        found = (x == extremes[c]) | (x != x);
        if (found) out[c] = at + i;
      }
      walker.advance(n);
      at += n;
    }
  }
}
template <class Op, class T>
constexpr ReduceForm kArg{sizeof(T), sizeof(int64_t), &arg_extreme<Op, T>};

// integers: outer, length, inner; rows are (outer, inner) pairs, each summed ascending. Integers wrap.
template <class T, class R>
void cumsum(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  const int64_t length = integer(args, 1), inner = integer(args, 2);
  for (int64_t m = m0; m < m1;) {
    // Neighbouring rows of the inner dimension together: they are contiguous at each step.
    const int64_t i = m % inner;
    const int64_t width = smaller(smaller(m1 - m, inner - i), kBlock);
    const int64_t first = m / inner * length * inner + i;
    const T* from = input<T>(args, 1) + first;
    R* to = output<R>(args, 0) + first;
    R sums[kBlock] = {};
    for (int64_t t = 0; t < length; ++t, from += inner, to += inner)
      for (int64_t c = 0; c < width; ++c) to[c] = sums[c] = plus(sums[c], static_cast<R>(from[c]));
    m += width;
  }
}

constexpr std::array<PrebuiltKernel, 15> kTable = {
    {{"aten.argmax.f32", &reduce_kernel<kArg<GreatestOf, float>>},
     {"aten.argmax.f64", &reduce_kernel<kArg<GreatestOf, double>>},
     {"aten.argmax.i64", &reduce_kernel<kArg<GreatestOf, int64_t>>},
     {"aten.argmax.i32", &reduce_kernel<kArg<GreatestOf, int32_t>>},
     {"aten.argmax.bool", &reduce_kernel<kArg<AnyOf, uint8_t>>},
     {"aten.argmin.bool", &reduce_kernel<kArg<AllOf, uint8_t>>},
     {"aten.argmin.f32", &reduce_kernel<kArg<LeastOf, float>>},
     {"aten.argmin.f64", &reduce_kernel<kArg<LeastOf, double>>},
     {"aten.argmin.i64", &reduce_kernel<kArg<LeastOf, int64_t>>},
     {"aten.argmin.i32", &reduce_kernel<kArg<LeastOf, int32_t>>},
     {"aten.cumsum.f32", &cumsum<float, float>},
     {"aten.cumsum.f64", &cumsum<double, double>},
     {"aten.cumsum.i64", &cumsum<int64_t, int64_t>},
     {"aten.cumsum.i32", &cumsum<int32_t, int64_t>},
     {"aten.cumsum.bool", &cumsum<uint8_t, int64_t>}}};

}  // namespace

std::span<const PrebuiltKernel> scan_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
