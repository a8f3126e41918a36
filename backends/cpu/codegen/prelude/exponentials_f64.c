//@ expm1_reduced_f64
// e^r - 1 for |r| <= 0.35: Taylor.
INLINE f64x16 expm1_reduced_f64(f64x16 r) {
  f64x16 p = splat_f64(0x1.93974a8c07c9dp-37);
  p = fma_f64(p, r, splat_f64(0x1.6124613a86d09p-33));
  p = fma_f64(p, r, splat_f64(0x1.1eed8eff8d898p-29));
  p = fma_f64(p, r, splat_f64(0x1.ae64567f544e4p-26));
  p = fma_f64(p, r, splat_f64(0x1.27e4fb7789f5cp-22));
  p = fma_f64(p, r, splat_f64(0x1.71de3a556c734p-19));
  p = fma_f64(p, r, splat_f64(0x1.a01a01a01a01ap-16));
  p = fma_f64(p, r, splat_f64(0x1.a01a01a01a01ap-13));
  p = fma_f64(p, r, splat_f64(0x1.6c16c16c16c17p-10));
  p = fma_f64(p, r, splat_f64(0x1.1111111111111p-7));
  p = fma_f64(p, r, splat_f64(0x1.5555555555555p-5));
  p = fma_f64(p, r, splat_f64(0x1.5555555555555p-3));
  p = fma_f64(p, r, splat_f64(0x1.0000000000000p-1));
  return fma_f64(p, r * r, r);
}

//@ power_of_two_f64
// 2^n for whole n in -1022..1023.
INLINE f64x16 power_of_two_f64(f64x16 n) {
  return (f64x16)((CONVERT(n, i64x16) + 1023) << 52);
}

//@ scaled_f64
INLINE f64x16 scaled_f64(f64x16 y, f64x16 n) {
  const f64x16 half = floor_f64(n * splat_f64(0.5));
  return y * power_of_two_f64(half) * power_of_two_f64(n - half);
}

//@ exp_f64
INLINE f64x16 exp_f64(f64x16 x) {
  const f64x16 low = x > splat_f64(-760.0) ? x : splat_f64(-760.0),
               v = low < splat_f64(720.0) ? low : splat_f64(720.0);
  const f64x16 n = round_f64(v * splat_f64(0x1.71547652b82fep+0));
  const f64x16 r = fma_f64(n, splat_f64(-0x1.a39ef35793c76p-33), fma_f64(n, splat_f64(-0x1.62e42feep-1), v));
  const f64x16 y = scaled_f64(expm1_reduced_f64(r) + splat_f64(1.0), n);
  return x == x ? y : x;
}

//@ exp2_f64
INLINE f64x16 exp2_f64(f64x16 x) {
  const f64x16 low = x > splat_f64(-1090.0) ? x : splat_f64(-1090.0),
               v = low < splat_f64(1040.0) ? low : splat_f64(1040.0);
  const f64x16 n = round_f64(v), r = (v - n) * splat_f64(0x1.62e42fefa39efp-1);
  const f64x16 y = scaled_f64(expm1_reduced_f64(r) + splat_f64(1.0), n);
  return x == x ? y : x;
}

//@ tanh_f64
INLINE f64x16 tanh_f64(f64x16 x) {
  const f64x16 t = abs_f64(x), v = t < splat_f64(20.0) ? t : splat_f64(20.0), y = v + v;
  const f64x16 bounded = y < splat_f64(0.35) ? y : splat_f64(0.0);
  const f64x16 em = y < splat_f64(0.35) ? expm1_reduced_f64(bounded) : exp_f64(y) - splat_f64(1.0);
  const f64x16 result = copysign_f64(em / (em + splat_f64(2.0)), x);
  return x == x ? result : x;
}

//@ log_f64
// 2 atanh(f / (2 + f)) of the mantissa.
INLINE f64x16 log_f64(f64x16 x) {
  const i64x16 tiny = x < splat_f64(0x1p-1022);
  const f64x16 scaled = tiny ? x * splat_f64(0x1p54) : x;
  const i64x16 root = splat_i64(0x3fe6a09e667f3bcd),
               moved = (i64x16)scaled + (splat_i64(0x3ff0000000000000) - root);
  const f64x16 e = CONVERT((moved >> 52) - 1023 - (tiny & 54), f64x16);
  const f64x16 f = (f64x16)((moved & 0xfffffffffffff) + root) - splat_f64(1.0);
  const f64x16 s = f / (splat_f64(2.0) + f), z = s * s, half = splat_f64(0.5) * f * f;
  f64x16 p = splat_f64(0x1.2f684bda12f68p-4);
  p = fma_f64(p, z, splat_f64(0x1.47ae147ae147bp-4));
  p = fma_f64(p, z, splat_f64(0x1.642c8590b2164p-4));
  p = fma_f64(p, z, splat_f64(0x1.8618618618618p-4));
  p = fma_f64(p, z, splat_f64(0x1.af286bca1af28p-4));
  p = fma_f64(p, z, splat_f64(0x1.e1e1e1e1e1e1ep-4));
  p = fma_f64(p, z, splat_f64(0x1.1111111111111p-3));
  p = fma_f64(p, z, splat_f64(0x1.3b13b13b13b14p-3));
  p = fma_f64(p, z, splat_f64(0x1.745d1745d1746p-3));
  p = fma_f64(p, z, splat_f64(0x1.c71c71c71c71cp-3));
  p = fma_f64(p, z, splat_f64(0x1.2492492492492p-2));
  p = fma_f64(p, z, splat_f64(0x1.999999999999ap-2));
  p = fma_f64(p, z, splat_f64(0x1.5555555555555p-1));
  const f64x16 low = fma_f64(s, fma_f64(p, z, half), e * splat_f64(0x1.a39ef35793c76p-33)) - half;
  const f64x16 y = fma_f64(e, splat_f64(0x1.62e42feep-1), low + f);
  const f64x16 infinity = splat_f64(__builtin_inf());
  const f64x16 finite = x < infinity ? y : x;
  const f64x16 positive = x == splat_f64(0.0) ? -infinity : finite;
  return x < splat_f64(0.0) ? splat_f64(__builtin_nan("")) : x == x ? positive : x;
}

//@ log1p_f64
INLINE f64x16 log1p_f64(f64x16 x) {
  const f64x16 one = splat_f64(1.0), u = one + x;
  const f64x16 lost = (x > one ? one - (u - x) : x - (u - one)) / u;
  const f64x16 infinity = splat_f64(__builtin_inf());
  const f64x16 y = log_f64(u) + (((x > -one) & (x < infinity)) ? lost : splat_f64(0.0));
  return ((x == splat_f64(0.0)) | (x != x)) ? x : y;
}

//@ erf_f64
// 2/sqrt(pi) e^(-x^2) times a series of positive terms.
INLINE f64x16 erf_f64(f64x16 x) {
  const f64x16 t = abs_f64(x), v = t < splat_f64(6.0) ? t : splat_f64(6.0), z = v * v;
  f64x16 sum = splat_f64(0.0);
  for (int k = 130; k >= 0; --k) sum = fma_f64(sum, z * splat_f64(2.0 / (2.0 * k + 3.0)), splat_f64(1.0));
  const f64x16 y = splat_f64(0x1.20dd750429b6dp+0) * v * exp_f64(-z) * sum;
  const f64x16 result = copysign_f64(v < splat_f64(6.0) ? y : splat_f64(1.0), x);
  return x == x ? result : x;
}
