//@ udiv
// Of operands that are known not to be negative.
INLINE int64_t udiv(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a / (uint64_t)b);
}

//@ umod
INLINE int64_t umod(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a % (uint64_t)b);
}

//@ div1_i64
// Truncating; by zero 0, wrapping.
INLINE int64_t div1_i64(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

//@ mod1_i64
INLINE int64_t mod1_i64(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

//@ floordiv1_i64
INLINE int64_t floordiv1_i64(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

//@ min1_i64
INLINE int64_t min1_i64(int64_t a, int64_t b) {
  return a < b ? a : b;
}

//@ max1_i64
INLINE int64_t max1_i64(int64_t a, int64_t b) {
  return a > b ? a : b;
}

//@ pow1_i64
// Wrapping; negative exponents give 1, -1 or 0.
INLINE int64_t pow1_i64(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? ((exponent & 1) != 0 ? -1 : 1) : 0;
  uint64_t result = 1, power = (uint64_t)base;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= power;
    power *= power;
  }
  return (int64_t)result;
}

//@ DEFINE_LANEWISE
#define DEFINE_LANEWISE(name, lanes, one)                \
  INLINE lanes name(lanes a, lanes b) {                  \
    for (int l = 0; l < 16; ++l) a[l] = one(a[l], b[l]); \
    return a;                                            \
  }

//@ div_i64
DEFINE_LANEWISE(div_i64, i64x16, div1_i64)

//@ floordiv_i64
DEFINE_LANEWISE(floordiv_i64, i64x16, floordiv1_i64)

//@ mod_i64
DEFINE_LANEWISE(mod_i64, i64x16, mod1_i64)

//@ pow_i64
DEFINE_LANEWISE(pow_i64, i64x16, pow1_i64)

//@ pow_i32
INLINE i32x16 pow_i32(i32x16 a, i32x16 b) {
  return CONVERT(pow_i64(CONVERT(a, i64x16), CONVERT(b, i64x16)), i32x16);
}

//@ div_i32
// A quotient of doubles is exact enough for 32 bits. By zero 0.
INLINE i32x16 div_i32(i32x16 a, i32x16 b) {
  const i32x16 safe = ((b == 0) | (b == -1)) ? splat_i32(1) : b;
  const i32x16 q = CONVERT(CONVERT(a, f64x16) / CONVERT(safe, f64x16), i32x16);
  return b == 0 ? splat_i32(0) : b == -1 ? 0 - a : q;
}

//@ floordiv_i32
INLINE i32x16 floordiv_i32(i32x16 a, i32x16 b) {
  const i32x16 safe = ((b == 0) | (b == -1)) ? splat_i32(1) : b;
  const i32x16 q = CONVERT(floor_f64(CONVERT(a, f64x16) / CONVERT(safe, f64x16)), i32x16);
  return b == 0 ? splat_i32(0) : b == -1 ? 0 - a : q;
}

//@ mod_i32
INLINE i32x16 mod_i32(i32x16 a, i32x16 b) {
  return b == 0 ? splat_i32(0) : a - floordiv_i32(a, b) * b;
}

//@ shl_i32
// Shifts by less than 0 or by the type's width and more give 0, or the sign.
INLINE i32x16 shl_i32(i32x16 a, i32x16 by, int32_t width) {
  return ((by >= 0) & (by < width)) ? a << (by & 31) : splat_i32(0);
}

//@ shr_i32
INLINE i32x16 shr_i32(i32x16 a, i32x16 by, int32_t width) {
  return ((by >= 0) & (by < width)) ? a >> (by & 31) : a >> 31;
}

//@ shl_i64
INLINE i64x16 shl_i64(i64x16 a, i64x16 by, int32_t width) {
  return ((by >= 0) & (by < (int64_t)width)) ? a << (by & 63) : splat_i64(0);
}

//@ shr_i64
INLINE i64x16 shr_i64(i64x16 a, i64x16 by, int32_t width) {
  return ((by >= 0) & (by < (int64_t)width)) ? a >> (by & 63) : a >> 63;
}
