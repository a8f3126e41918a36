// edge.cast.<from>.<to> between all element types. Integers wrap into narrower ones; floats to integers go
// towards zero and saturate, NaN gives 0; bool is x != 0 (NaN is true); f64 and integers reach f16 and bf16
// through f32.
#include "backends/cpu/prebuilt/pointwise.h"
#include "backends/cpu/prebuilt/tables.h"

namespace edge_infer::EDGE_ISA {
namespace {

template <class To>
struct CastTo {
  template <class From>
  static Compute<To> apply(From x) {
    if constexpr (kElementName<To> == "bool")
      return x != 0;
    else if constexpr (kIsFloat<From> && !kIsFloat<Compute<To>>)
      return saturate<Compute<To>>(x);
    else
      return static_cast<Compute<To>>(x);
  }
};

// One row of `unary`'s kind, from each type to each.
template <class From, class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> casts_from() {
  return {{{cast_name<"edge.cast", From, Ts>, &pointwise_kernel<kUnaryForm<CastTo<Ts>, From, Ts>>}...}};
}
template <class... Ts>
consteval auto casts() {
  return concat(
      casts_from<Ts, float, double, Half, BFloat, int64_t, int32_t, int16_t, int8_t, uint8_t, Bool>()...);
}

constexpr auto kTable =
    casts<float, double, Half, BFloat, int64_t, int32_t, int16_t, int8_t, uint8_t, Bool>();

}  // namespace

std::span<const PrebuiltKernel> cast_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
