// Vector math on F32. Bounds hold in every instruction set (tests/unit/prebuilt/vmath_test.cpp measures
// them). NaN gives NaN; infinities and zeros give what C's functions give, signs included, unless said
// otherwise.
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

// r and n of e^x = e^r * 2^n.
EDGE_INLINE F32 reduce_exp(F32 x, F32& n) {
  n = round_even(x * splat(1.44269504F));
  return fma(n, splat(2.12194440e-4F), fma(n, splat(-0.693359375F), x));
}

// Within 1.1 ulp, subnormal results included. Lanes that underflow to 0 are computed on 0 instead: a
// subnormal intermediate costs a microcode assist, and masked softmax is full of such lanes.
EDGE_INLINE F32 exp(F32 x) {
  const Mask vanishes = x < splat(-103.98F);
  x = select(vanishes, zeros(), min_or_second(splat(90.0F), x));  // NaN is the second operand, so it survives
  F32 n;
  const F32 r = reduce_exp(x, n);
  return select(vanishes, zeros(), scale_by_power(exp_reduced(r), n));
}

// e^x for |x| <= 87, within 1.1 ulp; NaN gives anything. Adding the magic number rounds x log2(e) to a whole
// number in the low bits of the sum, from where a shift makes it a power of two.
EDGE_INLINE F32 exp_bounded(F32 x) {
  const F32 magic = splat(12582912.0F);
  const F32 shifted = fma(x, splat(1.44269504F), magic);
  const F32 n = shifted - magic;
  const F32 r = fma(n, splat(2.12194440e-4F), fma(n, splat(-0.693359375F), x));
  return from_bits(bits_of(exp_reduced(r)) + shift_left(bits_of(shifted), 23));
}

// e^x for x <= 0 (or NaN) with results below e^-87 flushed to 0: the weights of attention. Within 1.1 ulp
// above.
EDGE_INLINE F32 exp_or_zero(F32 x) {
  const Mask number = x >= splat(-87.0F);
  const F32 y = exp_bounded(select(number, x, zeros()));
  return select(number, y, max_or_second(zeros(), x));  // the second operand where it is NaN
}

// Within 1.1 ulp.
EDGE_INLINE F32 exp2(F32 x) {
  const Mask vanishes = x < splat(-150.0F);
  x = select(vanishes, zeros(), min_or_second(splat(130.0F), x));
  const F32 n = round_even(x);
  return select(vanishes, zeros(), scale_by_power(exp_reduced((x - n) * splat(0.693147181F)), n));
}

// Splits positive x into m * 2^e with m in [sqrt(1/2), sqrt(2)); subnormals included.
EDGE_INLINE F32 split_power(F32 x, F32& e) {
  const Mask tiny = x < splat(1.17549435e-38F);
  x = select(tiny, x * splat(8388608.0F), x);
  const I32 u = bits_of(x);
  // Subtracting the bits of sqrt(1/2) makes the exponent field change at sqrt(2) instead of at 2.
  const I32 k = shift_right(u - splat_i32(0x3f3504f3), 23);
  e = to_f32(k) - select(tiny, splat(23.0F), zeros());
  return from_bits(u - shift_left(k, 23));
}

// Natural logarithm, within 1 ulp: Cephes' degree 9. log(0) = -inf, log(negative) = NaN.
EDGE_INLINE F32 log(F32 x) {
  F32 e;
  const F32 m = split_power(x, e);
  const F32 f = m - splat(1.0F), z = f * f;
  F32 p = fma(splat(7.0376836292e-2F), f, splat(-1.1514610310e-1F));
  p = fma(p, f, splat(1.1676998740e-1F));
  p = fma(p, f, splat(-1.2420140846e-1F));
  p = fma(p, f, splat(1.4249322787e-1F));
  p = fma(p, f, splat(-1.6668057665e-1F));
  p = fma(p, f, splat(2.0000714765e-1F));
  p = fma(p, f, splat(-2.4999993993e-1F));
  p = fma(p, f, splat(3.3333331174e-1F));
  F32 y = p * z * f;
  y = fma(e, splat(-2.12194440e-4F), y);
  y = fma(splat(-0.5F), z, y);
  F32 r = fma(e, splat(0.693359375F), f + y);
  const F32 infinity = splat(__builtin_inff());
  r = select(x == infinity, infinity, r);
  r = select(x == zeros(), -infinity, r);
  r = select(x < zeros(), splat(__builtin_nanf("")), r);
  return select(is_nan(x), x, r);
}

// log(1 + x), within 2 ulp.
EDGE_INLINE F32 log1p(F32 x) {
  const F32 u = x + splat(1.0F);
  const F32 lost = (x - (u - splat(1.0F))) / u;  // what rounding 1 + x dropped
  const F32 r = log(u) + select(u > zeros(), lost, zeros());
  const F32 near_zero = fma(x * x, splat(-0.5F), x);
  const F32 finite = select(abs(x) < splat(1e-4F), near_zero, r);
  const F32 infinity = splat(__builtin_inff());
  return select(x == infinity, infinity, select(x == zeros(), x, finite));
}

// Within 2 ulp: an odd polynomial below 0.625, else by exp.
EDGE_INLINE F32 tanh(F32 x) {
  const F32 t = abs(x), z = x * x;
  F32 p = fma(splat(-5.70498872745e-3F), z, splat(2.06390887954e-2F));
  p = fma(p, z, splat(-5.37397155531e-2F));
  p = fma(p, z, splat(1.33314422036e-1F));
  p = fma(p, z, splat(-3.33332819422e-1F));
  const F32 small = fma(p * z, x, x);
  const F32 v = min_or_second(splat(20.0F), t);  // NaN is the second operand; tanh(20) rounds to 1
  const F32 large = splat(1.0F) - splat(2.0F) / (exp_bounded(v + v) + splat(1.0F));
  return select(is_nan(x), x, select(t < splat(0.625F), small, copysign(large, x)));
}

// Within 2 ulp: two polynomials that meet at 0.927734375 (N. Juffa's coefficients).
EDGE_INLINE F32 erf(F32 x) {
  const F32 t = abs(x), s = x * x;
  F32 p = fma(splat(-5.96761703e-4F), s, splat(4.99119423e-3F));
  p = fma(p, s, splat(-2.67681349e-2F));
  p = fma(p, s, splat(1.12819925e-1F));
  p = fma(p, s, splat(-3.76125336e-1F));
  p = fma(p, s, splat(1.28379166e-1F));
  const F32 small = fma(p, x, x);
  const F32 v = min_or_second(splat(4.0F), t), w = v * v;  // erf(4) rounds to 1
  F32 q = fma(splat(-1.72853470e-5F), v, splat(3.83197126e-4F));
  const F32 u = fma(splat(-3.88396438e-3F), v, splat(2.42546219e-2F));
  q = fma(q, w, u);
  q = fma(q, v, splat(-1.06777877e-1F));
  q = fma(q, v, splat(-6.34846687e-1F));
  q = fma(q, v, splat(-1.28717512e-1F));
  q = fma(q, v, -v);
  const F32 large = copysign(splat(1.0F) - exp_bounded(q), x);
  return select(t > splat(0.927734375F), large, small);
}

// x * (1 + erf(x / sqrt 2)) / 2.
EDGE_INLINE F32 gelu(F32 x) {
  const F32 half = x * splat(0.5F);
  return fma(half, erf(x * splat(0.707106781F)), half);
}

// x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) / 2: another function than gelu, up to 4.7e-4 away from it.
EDGE_INLINE F32 gelu_tanh(F32 x) {
  const F32 inner = splat(0.797884561F) * fma(x * x * x, splat(0.044715F), x);
  const F32 half = x * splat(0.5F);
  return fma(half, tanh(inner), half);
}

// 1 / (1 + e^-x).
EDGE_INLINE F32 sigmoid(F32 x) {
  return splat(1.0F) / (splat(1.0F) + exp(-x));
}

EDGE_INLINE F32 silu(F32 x) {
  return x / (splat(1.0F) + exp(-x));
}

// sin (cos: shift = 1), within 2 ulp. Arguments are reduced by multiples of pi/2 in double; beyond 2^20 lanes
// go to the C library one by one.
EDGE_INLINE F32 sine_shifted(F32 x, int shift) {
  alignas(64) float value[kLanes], reduced[kLanes];
  alignas(64) int32_t quadrant[kLanes];
  store(value, x);
  for (int l = 0; l < kLanes; ++l) {
    // The magic number rounds to a whole number in the low bits of the double's mantissa.
    const double wide = value[l], shifted = wide * 0.63661977236758134 + 6755399441055744.0;
    const double n = shifted - 6755399441055744.0;
    // pi/2 = a 33-bit head, so that n * head is exact, and the rest.
    reduced[l] = static_cast<float>((wide - n * 1.5707963267341256) - n * 6.0771005065061922e-11);
    quadrant[l] = static_cast<int32_t>(__builtin_bit_cast(int64_t, shifted));
  }
  const F32 r = load(reduced), z = r * r;
  F32 s = fma(splat(-1.9515295891e-4F), z, splat(8.3321608736e-3F));
  s = fma(s, z, splat(-1.6666654611e-1F));
  s = fma(s * z, r, r);
  F32 c = fma(splat(2.443315711809948e-5F), z, splat(-1.388731625493765e-3F));
  c = fma(c, z, splat(4.166664568298827e-2F));
  c = fma(c * z, z, fma(splat(-0.5F), z, splat(1.0F)));
  const I32 q = load(quadrant) + splat_i32(shift);
  const F32 chosen = select(equal(q & splat_i32(1), splat_i32(1)), c, s);
  const I32 sign = shift_left(q & splat_i32(2), 30);
  F32 result = from_bits(bits_of(chosen) ^ sign);
  if (shift == 0) result = select(x == zeros(), x, result);
  uint32_t far = bits(~(abs(x) <= splat(1048576.0F)));
  if (far != 0) {
    alignas(64) float lanes[kLanes];
    store(lanes, result);
    for (int l = 0; l < kLanes; ++l)
      if ((far >> l) & 1U) lanes[l] = shift == 0 ? __builtin_sinf(value[l]) : __builtin_cosf(value[l]);
    result = load(lanes);
  }
  return result;
}
EDGE_INLINE F32 sin(F32 x) {
  return sine_shifted(x, 0);
}
EDGE_INLINE F32 cos(F32 x) {
  return sine_shifted(x, 1);
}

}  // namespace edge_infer::EDGE_ISA
