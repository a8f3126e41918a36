//@ i32_from_f32
// Towards zero, saturating, NaN 0; no lane is converted that does not fit.
INLINE i32x16 i32_from_f32(f32x16 x) {
  const b32x16 high = x >= splat_f32(0x1p31f), inside = (x > splat_f32(-0x1p31f)) & ~high;
  const i32x16 whole = CONVERT(inside ? x : splat_f32(0.0f), i32x16);
  const i32x16 low = x <= splat_f32(-0x1p31f) ? splat_i32((int32_t)0x80000000u) : whole;
  return high ? splat_i32(0x7fffffff) : low;
}

//@ i32_from_f64
INLINE i32x16 i32_from_f64(f64x16 x) {
  x = x == x ? x : splat_f64(0.0);
  x = x > splat_f64(0x1.fffffffcp30) ? splat_f64(0x1.fffffffcp30) : x;
  x = x < splat_f64(-0x1p31) ? splat_f64(-0x1p31) : x;
  return CONVERT(x, i32x16);
}

//@ i64_from_f64
INLINE i64x16 i64_from_f64(f64x16 x) {
  const i64x16 high = x >= splat_f64(0x1p63), inside = (x > splat_f64(-0x1p63)) & ~high;
  const i64x16 whole = CONVERT(inside ? x : splat_f64(0.0), i64x16);
  const i64x16 low = x <= splat_f64(-0x1p63) ? splat_i64((int64_t)0x8000000000000000u) : whole;
  return high ? splat_i64(0x7fffffffffffffff) : low;
}

//@ i64_from_f32
INLINE i64x16 i64_from_f32(f32x16 x) {
  return i64_from_f64(CONVERT(x, f64x16));
}

//@ clamp_i32
INLINE i32x16 clamp_i32(i32x16 x, int32_t low, int32_t high) {
  return min_i32(max_i32(x, splat_i32(low)), splat_i32(high));
}

//@ f32_from_f64
INLINE f32x16 f32_from_f64(f64x16 x) {
  return CONVERT(x, f32x16);
}

//@ odd_f32_from_f64
// Rounded to odd, so that rounding once more to 16 bits is as rounding once.
INLINE f32x16 odd_f32_from_f64(f64x16 x) {
  const f32x16 near = CONVERT(x, f32x16);
  const f64x16 back = CONVERT(near, f64x16);
  const b32x16 inexact = narrow_mask((back != x) & (x == x)), above = narrow_mask(abs_f64(back) > abs_f64(x));
  const i32x16 truncated = bits_f32(near) + above;
  return inexact ? float_of(truncated | 1) : near;
}

//@ f64_from_f32
INLINE f64x16 f64_from_f32(f32x16 x) {
  return CONVERT(x, f64x16);
}

//@ f32_from_i32
INLINE f32x16 f32_from_i32(i32x16 x) {
  return CONVERT(x, f32x16);
}

//@ f64_from_i32
INLINE f64x16 f64_from_i32(i32x16 x) {
  return CONVERT(x, f64x16);
}

//@ f32_from_i64
INLINE f32x16 f32_from_i64(i64x16 x) {
  return CONVERT(x, f32x16);
}

//@ f64_from_i64
INLINE f64x16 f64_from_i64(i64x16 x) {
  return CONVERT(x, f64x16);
}

//@ i64_from_i32
INLINE i64x16 i64_from_i32(i32x16 x) {
  return CONVERT(x, i64x16);
}

//@ i32_from_i64
INLINE i32x16 i32_from_i64(i64x16 x) {
  return CONVERT(x, i32x16);
}

//@ widen_bf16
INLINE f32x16 widen_bf16(u16x16 h) {
  return (f32x16)(CONVERT(h, u32x16) << 16);
}

//@ narrow_bf16
// Nearest even; NaN stays NaN (quiet).
INLINE u16x16 narrow_bf16(f32x16 x) {
  const u32x16 u = (u32x16)x;
  const u32x16 rounded = u + 0x7fffu + ((u >> 16) & 1u);
  const u32x16 chosen = x != x ? (u | 0x400000u) : rounded;
  return CONVERT(chosen >> 16, u16x16);
}

//@ widen_f16
INLINE f32x16 widen_f16(u16x16 h) {
#ifdef __F16C__
  typedef VECTOR(_Float16) f16x16;
  return CONVERT((f16x16)h, f32x16);
#else
  // A multiplication rebases the exponent, subnormals included; infinity and NaN are set apart.
  const u32x16 u = CONVERT(h, u32x16);
  const f32x16 rebased = (f32x16)((u & 0x7fffu) << 13) * splat_f32(0x1p112f);
  const u32x16 special = (u & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return (f32x16)((u32x16)rebased | special | ((u & 0x8000u) << 16));
#endif
}

//@ narrow_f16
// Nearest even.
INLINE u16x16 narrow_f16(f32x16 x) {
#ifdef __F16C__
  typedef VECTOR(_Float16) f16x16;
  return (u16x16)CONVERT(x, f16x16);
#else
  const u32x16 u = (u32x16)x, sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
  const u32x16 normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Adding 0.5 puts the rounded units of 2^-24 into the low bits.
  const u32x16 small = (u32x16)((f32x16)magnitude + splat_f32(0.5f)) - 0x3f000000u;
  u32x16 h = magnitude >= 0x38800000u ? normal : small;
  h = magnitude >= 0x477ff000u ? (u32x16)0x7c00u : h;
  h = magnitude > 0x7f800000u ? (0x7e00u | ((magnitude >> 13) & 0x3ffu)) : h;
  return CONVERT(h | sign, u16x16);
#endif
}

//@ round_to_bf16
INLINE f32x16 round_to_bf16(f32x16 x) {
  return widen_bf16(narrow_bf16(x));
}

//@ round_to_f16
INLINE f32x16 round_to_f16(f32x16 x) {
  return widen_f16(narrow_f16(x));
}
