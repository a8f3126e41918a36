//@ reduce_far
// x as a multiple of pi/2, for finite x >= 2^20: the rest in [-pi/4, pi/4], the whole multiple modulo 4
// (Payne and Hanek). The bits of 2/pi whose products are multiples of 4 are skipped; the 192 bits behind them
// are taken.
static const uint64_t two_over_pi[21] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
    0xa9e391615ee61b08,
};
INLINE double reduce_far(double x, int64_t* quadrant) {
  union {
    double number;
    uint64_t bits;
  } u = {x};
  const int64_t exponent = (int64_t)((u.bits >> 52) & 0x7ff) - 1075;
  const uint64_t mantissa = (u.bits & 0xfffffffffffff) | 0x10000000000000;
  const int64_t skipped = exponent > 2 ? exponent - 2 : 0, shift = skipped & 63;
  const uint64_t* p = two_over_pi + (skipped >> 6);
  uint64_t w[3];
  for (int i = 0; i < 3; ++i) w[i] = shift == 0 ? p[i] : (p[i] << shift) | (p[i + 1] >> (64 - shift));
  const unsigned __int128 low = (unsigned __int128)mantissa * w[2];
  const unsigned __int128 middle = (unsigned __int128)mantissa * w[1] + (uint64_t)(low >> 64);
  const unsigned __int128 high = (unsigned __int128)mantissa * w[0] + (uint64_t)(middle >> 64);
  // The product is x (2/pi) in units of 2^(exponent - skipped - 192); what is kept begins with the multiple's
  // two bits.
  unsigned __int128 top = ((unsigned __int128)(uint64_t)high << 64) | (uint64_t)middle;
  uint64_t rest = (uint64_t)low;
  const int64_t right = 2 - (exponent - skipped);
  if (right > 0) {
    rest = (rest >> right) | ((uint64_t)top << (64 - right));
    top = (top >> right) | ((unsigned __int128)(uint64_t)(high >> 64) << (128 - right));
  }
  int64_t q = (int64_t)(uint64_t)(top >> 126);
  unsigned __int128 fraction = (top << 2) | (rest >> 62);
  const int negative = (int)(fraction >> 127);
  if (negative) {
    q += 1;
    fraction = 0 - fraction;
  }
  *quadrant = q & 3;
  if (fraction == 0) return 0.0;
  const uint64_t upper = (uint64_t)(fraction >> 64);
  const int zeros = upper != 0 ? __builtin_clzll(upper) : 64 + __builtin_clzll((uint64_t)fraction);
  union {
    uint64_t bits;
    double number;
  } scale = {(uint64_t)(1023 - 64 - zeros) << 52};
  const double r = (double)(int64_t)((uint64_t)((fraction << zeros) >> 64) >> 1) * 2.0 * scale.number *
                   0x1.921fb54442d18p+0;
  return negative ? -r : r;
}

//@ sine_f64
// sin(x), or cos(x) with shift 1: x less a multiple of pi/2 in three parts (by reduce_far from 2^20 on), then
// Taylor.
INLINE f64x16 sine_f64(f64x16 x, int64_t shift) {
  const f64x16 a = abs_f64(x);
  const f64x16 v = a < splat_f64(0x1p20) ? a : splat_f64(0.0);
  f64x16 n = round_f64(v * splat_f64(0x1.45f306dc9c883p-1));
  f64x16 r = v - n * splat_f64(0x1.921fb544p+0);
  r = (r - n * splat_f64(0x1.0b4611a6p-34)) - n * splat_f64(0x1.3198a2e037073p-69);
  if (fold_any(narrow_mask(~(a < splat_f64(0x1p20))))) {
    for (int l = 0; l < 16; ++l) {
      if (a[l] >= 0x1p20 && a[l] < __builtin_inf()) {
        int64_t quadrant;
        r[l] = reduce_far(a[l], &quadrant);
        n[l] = (double)quadrant;
      }
    }
  }
  const i64x16 q = CONVERT(n, i64x16) + splat_i64(shift);
  const f64x16 z = r * r;
  f64x16 s = splat_f64(-0x1.2f49b46814157p-57);
  s = fma_f64(s, z, splat_f64(0x1.952c77030ad4ap-49));
  s = fma_f64(s, z, splat_f64(-0x1.ae7f3e733b81fp-41));
  s = fma_f64(s, z, splat_f64(0x1.6124613a86d09p-33));
  s = fma_f64(s, z, splat_f64(-0x1.ae64567f544e4p-26));
  s = fma_f64(s, z, splat_f64(0x1.71de3a556c734p-19));
  s = fma_f64(s, z, splat_f64(-0x1.a01a01a01a01ap-13));
  s = fma_f64(s, z, splat_f64(0x1.1111111111111p-7));
  s = fma_f64(s, z, splat_f64(-0x1.5555555555555p-3));
  s = fma_f64(s * z, r, r);
  f64x16 c = splat_f64(0x1.e542ba4020225p-62);
  c = fma_f64(c, z, splat_f64(-0x1.6827863b97d97p-53));
  c = fma_f64(c, z, splat_f64(0x1.ae7f3e733b81fp-45));
  c = fma_f64(c, z, splat_f64(-0x1.93974a8c07c9dp-37));
  c = fma_f64(c, z, splat_f64(0x1.1eed8eff8d898p-29));
  c = fma_f64(c, z, splat_f64(-0x1.27e4fb7789f5cp-22));
  c = fma_f64(c, z, splat_f64(0x1.a01a01a01a01ap-16));
  c = fma_f64(c, z, splat_f64(-0x1.6c16c16c16c17p-10));
  c = fma_f64(c, z, splat_f64(0x1.5555555555555p-5));
  c = fma_f64(c * z, z, fma_f64(splat_f64(-0.5), z, splat_f64(1.0)));
  const f64x16 chosen = (q & 1) != 0 ? c : s;
  const i64x16 turned = (i64x16)chosen ^ ((q & 2) << 62);
  // The sine is odd, the cosine even; infinities give NaN.
  const i64x16 odd = shift == 0 ? ((i64x16)x & splat_i64((int64_t)0x8000000000000000u)) : splat_i64(0);
  return a < splat_f64(__builtin_inf()) ? (f64x16)(turned ^ odd) : x - x;
}

//@ sin_f64
INLINE f64x16 sin_f64(f64x16 x) {
  return sine_f64(x, 0);
}

//@ cos_f64
INLINE f64x16 cos_f64(f64x16 x) {
  return sine_f64(x, 1);
}

//@ sin_f32
INLINE f32x16 sin_f32(f32x16 x) {
  return CONVERT(sine_f64(CONVERT(x, f64x16), 0), f32x16);
}

//@ cos_f32
INLINE f32x16 cos_f32(f32x16 x) {
  return CONVERT(sine_f64(CONVERT(x, f64x16), 1), f32x16);
}

//@ atan2_f64
INLINE f64x16 atan2_f64(f64x16 y, f64x16 x) {
  const f64x16 ay = abs_f64(y), ax = abs_f64(x), zero = splat_f64(0.0), one = splat_f64(1.0);
  const i64x16 swapped = ay > ax;
  const f64x16 large = swapped ? ay : ax, small = swapped ? ax : ay;
  const f64x16 ratio = small / large;
  const i64x16 both = (ax == ay) & (ax == splat_f64(__builtin_inf()));
  const f64x16 t = large == zero ? zero : both ? one : ratio;
  const i64x16 turned = t > splat_f64(0x1.a827999fcef32p-2);
  const f64x16 w = turned ? (t - one) / (t + one) : t, z = w * w;
  f64x16 p = splat_f64(-0x1.5c9882b931057p-6);
  p = fma_f64(p, z, splat_f64(0x1.6c16c16c16c17p-6));
  p = fma_f64(p, z, splat_f64(-0x1.7d05f417d05f4p-6));
  p = fma_f64(p, z, splat_f64(0x1.8f9c18f9c18fap-6));
  p = fma_f64(p, z, splat_f64(-0x1.a41a41a41a41ap-6));
  p = fma_f64(p, z, splat_f64(0x1.bacf914c1bad0p-6));
  p = fma_f64(p, z, splat_f64(-0x1.d41d41d41d41dp-6));
  p = fma_f64(p, z, splat_f64(0x1.f07c1f07c1f08p-6));
  p = fma_f64(p, z, splat_f64(-0x1.0842108421084p-5));
  p = fma_f64(p, z, splat_f64(0x1.1a7b9611a7b96p-5));
  p = fma_f64(p, z, splat_f64(-0x1.2f684bda12f68p-5));
  p = fma_f64(p, z, splat_f64(0x1.47ae147ae147bp-5));
  p = fma_f64(p, z, splat_f64(-0x1.642c8590b2164p-5));
  p = fma_f64(p, z, splat_f64(0x1.8618618618618p-5));
  p = fma_f64(p, z, splat_f64(-0x1.af286bca1af28p-5));
  p = fma_f64(p, z, splat_f64(0x1.e1e1e1e1e1e1ep-5));
  p = fma_f64(p, z, splat_f64(-0x1.1111111111111p-4));
  p = fma_f64(p, z, splat_f64(0x1.3b13b13b13b14p-4));
  p = fma_f64(p, z, splat_f64(-0x1.745d1745d1746p-4));
  p = fma_f64(p, z, splat_f64(0x1.c71c71c71c71cp-4));
  p = fma_f64(p, z, splat_f64(-0x1.2492492492492p-3));
  p = fma_f64(p, z, splat_f64(0x1.999999999999ap-3));
  p = fma_f64(p, z, splat_f64(-0x1.5555555555555p-2));
  const f64x16 angle = fma_f64(p * z, w, w) + (turned ? splat_f64(0x1.921fb54442d18p-1) : zero);
  const f64x16 first = swapped ? splat_f64(0x1.921fb54442d18p+0) - angle : angle;
  const f64x16 half = (i64x16)x < 0 ? splat_f64(0x1.921fb54442d18p+1) - first : first;
  return ((x != x) | (y != y)) ? x + y : copysign_f64(half, y);
}

//@ atan2_f32
INLINE f32x16 atan2_f32(f32x16 y, f32x16 x) {
  return CONVERT(atan2_f64(CONVERT(y, f64x16), CONVERT(x, f64x16)), f32x16);
}
