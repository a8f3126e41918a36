//@ expm1_reduced
// e^r - 1 for |r| <= 0.35: r + r^2 P(r), minimax of degree 4.
INLINE f32x16 expm1_reduced(f32x16 r) {
  f32x16 p = splat_f32(0x1.6bebeep-10f);
  p = fma_f32(p, r, splat_f32(0x1.1227f6p-7f));
  p = fma_f32(p, r, splat_f32(0x1.555674p-5f));
  p = fma_f32(p, r, splat_f32(0x1.5554b0p-3f));
  p = fma_f32(p, r, splat_f32(0x1.fffffep-2f));
  return fma_f32(p, r * r, r);
}

//@ power_of_two
// 2^n for whole n in -126..127.
INLINE f32x16 power_of_two(i32x16 n) {
  return float_of((n + 127) << 23);
}

//@ exp_f32
// Within 1.5 ulp where the result is normal; below, two roundings. Lanes that vanish are computed on 0:
// subnormal intermediates are slow.
INLINE f32x16 exp_f32(f32x16 x) {
  const b32x16 vanishes = x < splat_f32(-104.0f);
  const f32x16 bounded = vanishes ? splat_f32(0.0f) : x > splat_f32(89.0f) ? splat_f32(89.0f) : x;
  const f32x16 number = bounded == bounded ? bounded : splat_f32(0.0f);
  const f32x16 magic = splat_f32(0x1.8p23f);
  const f32x16 shifted = fma_f32(number, splat_f32(0x1.715476p+0f), magic);
  const f32x16 n = shifted - magic;
  const f32x16 r = fma_f32(n, splat_f32(-0x1.7f7d1cp-20f), fma_f32(n, splat_f32(-0x1.62e4p-1f), number));
  const i32x16 whole = bits_f32(shifted) - bits_f32(magic), half = whole >> 1;
  const f32x16 y = (expm1_reduced(r) + splat_f32(1.0f)) * power_of_two(half) * power_of_two(whole - half);
  return vanishes ? splat_f32(0.0f) : x == x ? y : x;
}

//@ exp2_f32
// Within 1.5 ulp where the result is normal.
INLINE f32x16 exp2_f32(f32x16 x) {
  const b32x16 vanishes = x < splat_f32(-150.0f);
  const f32x16 bounded = vanishes ? splat_f32(0.0f) : x > splat_f32(129.0f) ? splat_f32(129.0f) : x;
  const f32x16 number = bounded == bounded ? bounded : splat_f32(0.0f);
  const f32x16 n = round_f32(number), r = number - n;
  const i32x16 whole = CONVERT(n, i32x16), half = whole >> 1;
  f32x16 p = splat_f32(0x1.41fbbap-13f);
  p = fma_f32(p, r, splat_f32(0x1.5f3e54p-10f));
  p = fma_f32(p, r, splat_f32(0x1.3b2d4cp-7f));
  p = fma_f32(p, r, splat_f32(0x1.c6aee8p-5f));
  p = fma_f32(p, r, splat_f32(0x1.ebfbdcp-3f));
  p = fma_f32(p, r, splat_f32(0x1.62e430p-1f));
  const f32x16 y = fma_f32(p, r, splat_f32(1.0f)) * power_of_two(half) * power_of_two(whole - half);
  return vanishes ? splat_f32(0.0f) : x == x ? y : x;
}

//@ pick_f32 TABLE_8
// Which of eight floats, by the three low bits of each lane.
#if defined(__AVX512F__)
#define TABLE_8(a, b, c, d, e, f, g, h) ((f32x16){a, b, c, d, e, f, g, h, a, b, c, d, e, f, g, h})
INLINE f32x16 pick_f32(f32x16 table, i32x16 index) {
  return __builtin_ia32_permvarsf512(table, index);
}
#elif defined(__AVX2__)
typedef float f32x8 __attribute__((ext_vector_type(8)));
#define TABLE_8(a, b, c, d, e, f, g, h) ((f32x8){a, b, c, d, e, f, g, h})
INLINE f32x16 pick_f32(f32x8 table, i32x16 index) {
  const f32x8 low = __builtin_ia32_permvarsf256(table, index.lo);
  const f32x8 high = __builtin_ia32_permvarsf256(table, index.hi);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
#endif

//@ erf_f32
#if defined(__AVX2__)
// Within 1 ulp: a polynomial a piece, of the distance to the piece's middle i * 0x1.0e574p-1. The width is
// one for which the erf of each middle is nearly a float. In piece 0 the polynomial adds to the distance
// itself, so that small results keep their digits; there the distance is the larger of the two.
INLINE f32x16 erf_f32(f32x16 x) {
  const f32x16 size = abs_f32(x), t = size > splat_f32(0x1.fadep+1f) ? splat_f32(0x1.fadep+1f) : size;
  const f32x16 magic = splat_f32(0x1.8p23f), shifted = fma_f32(t, splat_f32(0x1.e4d7p+0f), magic);
  const f32x16 r = fma_f32(shifted - magic, splat_f32(-0x1.0e574p-1f), t);
  const i32x16 i = bits_f32(shifted);
  f32x16 p = pick_f32(TABLE_8(-0x1.47eb48p-6f, -0x1.8800f8p-5f, 0x1.27a156p-7f, 0x1.07767cp-6f,
                              -0x1.dc2186p-10f, -0x1.1f4a8cp-9f, -0x1.3c8718p-11f, 0x1.2c65c4p-11f),
                      i);
  p = fma_f32(p, r,
              pick_f32(TABLE_8(0x1.e5467ep-4f, -0x1.9969f4p-14f, -0x1.0ae4c6p-4f, -0x1.adc0f6p-8f,
                               0x1.97c736p-7f, 0x1.0bfbb4p-8f, 0x1.ff5766p-12f, 0x1.d8a444p-16f),
                       i));
  p = fma_f32(p, r,
              pick_f32(TABLE_8(-0x1.7af9c8p-11f, 0x1.77d2dep-3f, 0x1.9b181cp-5f, -0x1.90aa8ap-5f,
                               -0x1.bc9d46p-6f, -0x1.4e598ap-8f, -0x1.b92218p-12f, -0x1.5a9fe6p-14f),
                       i));
  p = fma_f32(p, r,
              pick_f32(TABLE_8(-0x1.811cc2p-2f, -0x1.01f04cp-3f, 0x1.369f16p-3f, 0x1.f79d9cp-4f,
                               0x1.1a0a7ap-5f, 0x1.2ba43ap-8f, 0x1.48fc0cp-12f, 0x1.8177d6p-17f),
                       i));
  p = fma_f32(p, r,
              pick_f32(TABLE_8(-0x1.7343e6p-21f, -0x1.cda7eep-2f, -0x1.900caap-2f, -0x1.29bdacp-3f,
                               -0x1.c32bc4p-6f, -0x1.6ef7fep-9f, -0x1.49935ap-13f, -0x1.af6facp-19f),
                       i));
  p = fma_f32(p, r,
              pick_f32(TABLE_8(0x1.06eba8p-3f, 0x1.b52a86p-1f, 0x1.7ad3bp-2f, 0x1.77edf2p-4f, 0x1.ab36fcp-7f,
                               0x1.15fd74p-10f, 0x1.9e4c48p-15f, 0x1.619d3ap-20f),
                       i));
  const f32x16 middle = pick_f32(TABLE_8(0.0f, 0x1.16eb9ap-1f, 0x1.bab6fp-1f, 0x1.f32898p-1f, 0x1.fe8e94p-1f,
                                         0x1.ffe742p-1f, 0x1.ffff06p-1f, 0x1.fffffap-1f),
                                 i);
  return copysign_f32(fma_f32(p, r, middle > r ? middle : r), x);
}
#else
// Within 1.5 ulp: x + x P(x^2) below 0.875, else 1 - 2^Q(|x|).
INLINE f32x16 erf_f32(f32x16 x) {
  const f32x16 t = abs_f32(x), s = x * x;
  f32x16 small = splat_f32(-0x1.453aa6p-11f);
  small = fma_f32(small, s, splat_f32(0x1.49c9fcp-8f));
  small = fma_f32(small, s, splat_f32(-0x1.b6f38ap-6f));
  small = fma_f32(small, s, splat_f32(0x1.ce211ep-4f));
  small = fma_f32(small, s, splat_f32(-0x1.81270cp-2f));
  small = fma_f32(small, s, splat_f32(0x1.06eba6p-3f));
  small = fma_f32(small, x, x);
  const f32x16 v = t < splat_f32(4.0f) ? t : splat_f32(4.0f);
  f32x16 q = splat_f32(0x1.30105ap-12f);
  q = fma_f32(q, v, splat_f32(-0x1.245f58p-8f));
  q = fma_f32(q, v, splat_f32(0x1.08f99ep-5f));
  q = fma_f32(q, v, splat_f32(-0x1.344018p-3f));
  q = fma_f32(q, v, splat_f32(-0x1.d6550ap-1f));
  q = fma_f32(q, v, splat_f32(-0x1.a094a2p+0f));
  q = fma_f32(q, v, splat_f32(-0x1.941cd2p-13f));
  const f32x16 magic = splat_f32(0x1.8p23f), shifted = q + magic, r = q - (shifted - magic);
  f32x16 p = splat_f32(0x1.5bba0ep-10f);
  p = fma_f32(p, r, splat_f32(0x1.3cea88p-7f));
  p = fma_f32(p, r, splat_f32(0x1.c6b752p-5f));
  p = fma_f32(p, r, splat_f32(0x1.ebf9bcp-3f));
  p = fma_f32(p, r, splat_f32(0x1.62e42ap-1f));
  const f32x16 power = float_of(bits_f32(fma_f32(p, r, splat_f32(1.0f))) + (bits_f32(shifted) << 23));
  const f32x16 large = copysign_f32(splat_f32(1.0f) - power, x);
  return t >= splat_f32(0.875f) ? large : small;
}
#endif

//@ tanh_f32
// Within 2 ulp: x + x^3 P(x^2) below 0.5, else (e^2x - 1) / (e^2x + 1), the difference without cancellation.
INLINE f32x16 tanh_f32(f32x16 x) {
  const f32x16 t = abs_f32(x), v = t < splat_f32(10.0f) ? t : splat_f32(10.0f), y = v + v, z = v * v;
  f32x16 p = splat_f32(0x1.1a7bfep-6f);
  p = fma_f32(p, z, splat_f32(-0x1.b28c72p-5f));
  p = fma_f32(p, z, splat_f32(0x1.10e9fcp-3f));
  p = fma_f32(p, z, splat_f32(-0x1.5554d6p-2f));
  const f32x16 small = fma_f32(p * z, x, x);
  const f32x16 magic = splat_f32(0x1.8p23f);
  const f32x16 shifted = fma_f32(y, splat_f32(0x1.715476p+0f), magic);
  const f32x16 n = shifted - magic;
  const f32x16 r = fma_f32(n, splat_f32(-0x1.7f7d1cp-20f), fma_f32(n, splat_f32(-0x1.62e4p-1f), y));
  const f32x16 scale = power_of_two(bits_f32(shifted) - bits_f32(magic));
  const f32x16 em = fma_f32(scale, expm1_reduced(r), scale - splat_f32(1.0f));
  const f32x16 large = em / (em + splat_f32(2.0f));
  const f32x16 number = copysign_f32(t < splat_f32(0.5f) ? small : large, x);
  return x == x ? number : x;
}

//@ split_log_f32
// x = (1 + f) 2^e with 1 + f in [sqrt(1/2), sqrt(2)), for positive x, subnormal ones included.
INLINE f32x16 split_log_f32(f32x16 x, f32x16* e) {
  const b32x16 tiny = x < splat_f32(0x1p-126f);
  const f32x16 scaled = tiny ? x * splat_f32(0x1p25f) : x;
  const i32x16 moved = bits_f32(scaled) + (0x3f800000 - 0x3f3504f3);
  *e = CONVERT((moved >> 23) - 127 - (tiny & 25), f32x16);
  return float_of((moved & 0x7fffff) + 0x3f3504f3) - splat_f32(1.0f);
}

//@ log_of_parts
// log((1 + f) 2^e) + c: with s = f / (2 + f), log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)).
INLINE f32x16 log_of_parts(f32x16 f, f32x16 e, f32x16 c) {
  const f32x16 s = f / (splat_f32(2.0f) + f), z = s * s, w = z * z, half = splat_f32(0.5f) * f * f;
  const f32x16 odd = z * fma_f32(w, splat_f32(0x1.23d3dcp-2f), splat_f32(0x1.555554p-1f));
  const f32x16 even = w * fma_f32(w, splat_f32(0x1.f13c4cp-3f), splat_f32(0x1.999c26p-2f));
  const f32x16 low = fma_f32(s, half + (odd + even), fma_f32(e, splat_f32(0x1.7f7d1cp-20f), c)) - half;
  return fma_f32(e, splat_f32(0x1.62e4p-1f), low + f);
}

//@ log_f32
// Within 1.5 ulp.
INLINE f32x16 log_f32(f32x16 x) {
  f32x16 e;
  const f32x16 f = split_log_f32(x, &e), y = log_of_parts(f, e, splat_f32(0.0f));
  const f32x16 infinity = splat_f32(__builtin_inff());
  const f32x16 finite = x < infinity ? y : x;
  const f32x16 positive = x == splat_f32(0.0f) ? -infinity : finite;
  return x < splat_f32(0.0f) ? splat_f32(__builtin_nanf("")) : x == x ? positive : x;
}

//@ log1p_f32
// Within 2 ulp: the logarithm of u = 1 + x, corrected by what rounding u dropped.
INLINE f32x16 log1p_f32(f32x16 x) {
  const f32x16 one = splat_f32(1.0f), u = one + x;
  f32x16 e;
  f32x16 f = split_log_f32(u, &e);
  const f32x16 lost = (x > one ? one - (u - x) : x - (u - one)) / u;
  const b32x16 near = (x > splat_f32(-0.29f)) & (x < splat_f32(0.41f));
  f = near ? x : f;
  e = near ? splat_f32(0.0f) : e;
  const f32x16 y = log_of_parts(f, e, near ? splat_f32(0.0f) : lost);
  const f32x16 infinity = splat_f32(__builtin_inff());
  const f32x16 finite = x < infinity ? y : x;
  const f32x16 above = x == -one ? -infinity : finite;
  const f32x16 inside = x < -one ? splat_f32(__builtin_nanf("")) : above;
  return ((x == splat_f32(0.0f)) | (x != x)) ? x : inside;
}
