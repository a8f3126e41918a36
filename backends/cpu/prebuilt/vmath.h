// Vector math on F32. Bounds hold in every instruction set (tests/unit/prebuilt/vmath_test.cpp measures them).
// NaN gives NaN; infinities and zeros give what C's functions give, signs included, unless said otherwise.
#pragma once

#include "backends/cpu/prebuilt/vec.h"

namespace edge_infer::EDGE_ISA {

// p * 2^n for whole n in [-252, 254], rounded once where the result is subnormal.
EDGE_INLINE F32 scale_by_power(F32 p, F32 n) {
#if defined(__AVX512F__)
  return {{(f32p)_mm512_scalef_ps((__m512)p.part[0], (__m512)n.part[0])}};
#else
  const I32 whole = to_i32_truncate(n);
  const I32 half = shift_right(whole, 1), rest = whole - half;
  const I32 bias = splat_i32(127);
  return p * from_bits(shift_left(half + bias, 23)) * from_bits(shift_left(rest + bias, 23));
#endif
}

// e^r for |r| <= 0.35, about half an ulp: Cephes' degree 6.
EDGE_INLINE F32 exp_reduced(F32 r) {
  F32 p = fma(splat(1.9875691500e-4F), r, splat(1.3981999507e-3F));
  p = fma(p, r, splat(8.3334519073e-3F));
  p = fma(p, r, splat(4.1665795894e-2F));
  p = fma(p, r, splat(1.6666665459e-1F));
  p = fma(p, r, splat(5.0000001201e-1F));
  return fma(p, r * r, r) + splat(1.0F);
}

// Within 1.1 ulp, subnormal results included.
EDGE_INLINE F32 exp(F32 x) {
  x = min_or_second(splat(90.0F), max_or_second(splat(-105.0F), x));  // NaN is the second operand, so it survives
  const F32 n = round_even(x * splat(1.44269504F));
  F32 r = fma(n, splat(-0.693359375F), x);
  r = fma(n, splat(2.12194440e-4F), r);
  return scale_by_power(exp_reduced(r), n);
}

}  // namespace edge_infer::EDGE_ISA
