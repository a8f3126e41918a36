//@ pow_f64
// e^(y log|x|) with C's signs and special values; relative error about |y log x| 2^-52.
INLINE f64x16 pow_f64(f64x16 x, f64x16 y) {
  const f64x16 one = splat_f64(1.0), zero = splat_f64(0.0), infinity = splat_f64(__builtin_inf());
  const f64x16 ax = abs_f64(x);
  const i64x16 whole = floor_f64(y) == y, odd = whole & (floor_f64(y * splat_f64(0.5)) != y * splat_f64(0.5));
  const f64x16 product = y * log_f64(ax);
  const f64x16 magnitude = exp_f64(ax == one ? zero : product);
  const i64x16 negative = (i64x16)x < 0;
  const f64x16 flipped = (negative & odd) ? -magnitude : magnitude;
  const i64x16 outside = (x < zero) & ~whole & (ax < infinity) & (abs_f64(y) < infinity);
  const f64x16 r = outside ? splat_f64(__builtin_nan("")) : flipped;
  const f64x16 number = ((x != x) | (y != y)) ? x + y : r;
  return ((y == zero) | (x == one)) ? one : number;
}

//@ pow_f32
INLINE f32x16 pow_f32(f32x16 x, f32x16 y) {
  return CONVERT(pow_f64(CONVERT(x, f64x16), CONVERT(y, f64x16)), f32x16);
}

//@ fmod1_f64
// The remainder of truncating division, exact: mantissas are reduced bit by bit.
INLINE double fmod1_f64(double x, double y) {
  union {
    double number;
    uint64_t bits;
  } ux = {x}, uy = {y};
  const uint64_t sign = ux.bits & 0x8000000000000000u;
  uint64_t a = ux.bits ^ sign, b = uy.bits & 0x7fffffffffffffff;
  if (b == 0 || b > 0x7ff0000000000000 || a >= 0x7ff0000000000000) return (x - x) / (y - y);
  if (a < b) return x;
  int64_t ea = (int64_t)(a >> 52), eb = (int64_t)(b >> 52);
  a = ea != 0 ? (a & 0xfffffffffffff) | 0x10000000000000 : a << 1;
  b = eb != 0 ? (b & 0xfffffffffffff) | 0x10000000000000 : b << 1;
  for (; ea > eb; --ea) {
    if (a >= b) a -= b;
    a <<= 1;
  }
  if (a >= b) a -= b;
  if (a == 0) return x * 0.0;
  while (a < 0x10000000000000) {
    a <<= 1;
    --ea;
  }
  ux.bits = sign | (ea > 0 ? (a & 0xfffffffffffff) | ((uint64_t)ea << 52) : a >> (1 - ea));
  return ux.number;
}

//@ mod1_f64
INLINE double mod1_f64(double x, double y) {
  const double r = fmod1_f64(x, y);
  return r != 0.0 && (r < 0.0) != (y < 0.0) ? r + y : r;
}

//@ mod_f64
DEFINE_LANEWISE(mod_f64, f64x16, mod1_f64)

//@ mod_f32
// In double, where quotient times divisor is exact up to 2^28.
INLINE f32x16 mod_f32(f32x16 x, f32x16 y) {
  const f64x16 a = CONVERT(x, f64x16), b = CONVERT(y, f64x16), q = floor_f64(a / b);
  const f64x16 near = a - q * b;
  const i64x16 simple = (abs_f64(q) < splat_f64(0x1p28)) & (abs_f64(b) < splat_f64(__builtin_inf()));
  f32x16 r = CONVERT(near, f32x16);
  if (fold_any(narrow_mask(~simple)))
    for (int l = 0; l < 16; ++l)
      if (!simple[l]) r[l] = (float)mod1_f64(a[l], b[l]);
  return r;
}

//@ floordiv_f64
INLINE f64x16 floordiv_f64(f64x16 a, f64x16 b) {
  return floor_f64(a / b);
}

//@ floordiv_f32
INLINE f32x16 floordiv_f32(f32x16 a, f32x16 b) {
  return CONVERT(floor_f64(CONVERT(a, f64x16) / CONVERT(b, f64x16)), f32x16);
}
