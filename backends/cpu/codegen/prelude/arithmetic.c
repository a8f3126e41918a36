//@ fma_f32
INLINE f32x16 fma_f32(f32x16 a, f32x16 b, f32x16 c) {
#ifdef __FMA__
  return __builtin_elementwise_fma(a, b, c);
#else
  return a * b + c;
#endif
}

//@ fma_f64
INLINE f64x16 fma_f64(f64x16 a, f64x16 b, f64x16 c) {
#ifdef __FMA__
  return __builtin_elementwise_fma(a, b, c);
#else
  return a * b + c;
#endif
}

//@ abs_f32
// Builtins here and in copysign: masks of bits, written out, are miscompiled by clang 19 for AVX-512 where it
// knows bits of the operand (a select of constants, say).
INLINE f32x16 abs_f32(f32x16 x) {
  return __builtin_elementwise_abs(x);
}

//@ abs_f64
INLINE f64x16 abs_f64(f64x16 x) {
  return __builtin_elementwise_abs(x);
}

//@ copysign_f32
INLINE f32x16 copysign_f32(f32x16 magnitude, f32x16 sign) {
  return __builtin_elementwise_copysign(magnitude, sign);
}

//@ copysign_f64
INLINE f64x16 copysign_f64(f64x16 magnitude, f64x16 sign) {
  return __builtin_elementwise_copysign(magnitude, sign);
}

//@ neg_i32
INLINE i32x16 neg_i32(i32x16 x) {
  return 0 - x;
}

//@ neg_i64
INLINE i64x16 neg_i64(i64x16 x) {
  return 0 - x;
}

//@ abs_i32
INLINE i32x16 abs_i32(i32x16 x) {
  return select_i32(x < 0, 0 - x, x);
}

//@ abs_i64
INLINE i64x16 abs_i64(i64x16 x) {
  return x < 0 ? 0 - x : x;
}

//@ wrap_i16
INLINE i32x16 wrap_i16(i32x16 x) {
  return (x << 16) >> 16;
}

//@ wrap_i8
INLINE i32x16 wrap_i8(i32x16 x) {
  return (x << 24) >> 24;
}

//@ wrap_u8
INLINE i32x16 wrap_u8(i32x16 x) {
  return x & 255;
}

//@ isnan_f32
INLINE b32x16 isnan_f32(f32x16 x) {
  return x != x;
}

//@ isnan_f64
INLINE b32x16 isnan_f64(f64x16 x) {
  return narrow_mask(x != x);
}

//@ max_f32
// NaN where either is NaN.
INLINE f32x16 max_f32(f32x16 a, f32x16 b) {
  const f32x16 larger = a > b ? a : b;
  return a != a ? a : larger;
}

//@ min_f32
INLINE f32x16 min_f32(f32x16 a, f32x16 b) {
  const f32x16 smaller = a < b ? a : b;
  return a != a ? a : smaller;
}

//@ max_f64
INLINE f64x16 max_f64(f64x16 a, f64x16 b) {
  const f64x16 larger = a > b ? a : b;
  return a != a ? a : larger;
}

//@ min_f64
INLINE f64x16 min_f64(f64x16 a, f64x16 b) {
  const f64x16 smaller = a < b ? a : b;
  return a != a ? a : smaller;
}

//@ max_i32
INLINE i32x16 max_i32(i32x16 a, i32x16 b) {
  return select_i32(a > b, a, b);
}

//@ min_i32
INLINE i32x16 min_i32(i32x16 a, i32x16 b) {
  return select_i32(a < b, a, b);
}

//@ max_i64
INLINE i64x16 max_i64(i64x16 a, i64x16 b) {
  return a > b ? a : b;
}

//@ min_i64
INLINE i64x16 min_i64(i64x16 a, i64x16 b) {
  return a < b ? a : b;
}

//@ sqrt_f32
INLINE f32x16 sqrt_f32(f32x16 x) {
  return __builtin_elementwise_sqrt(x);
}

//@ sqrt_f64
INLINE f64x16 sqrt_f64(f64x16 x) {
  return __builtin_elementwise_sqrt(x);
}

//@ rsqrt_f32
INLINE f32x16 rsqrt_f32(f32x16 x) {
  return splat_f32(1.0f) / sqrt_f32(x);
}

//@ rsqrt_f64
INLINE f64x16 rsqrt_f64(f64x16 x) {
  return splat_f64(1.0) / sqrt_f64(x);
}

//@ rcp_f32
INLINE f32x16 rcp_f32(f32x16 x) {
  return splat_f32(1.0f) / x;
}

//@ rcp_f64
INLINE f64x16 rcp_f64(f64x16 x) {
  return splat_f64(1.0) / x;
}

//@ round_f32
// Halves to even. Large values (and NaN) are whole already; the sign survives, so that -0.5 gives -0.
INLINE f32x16 round_f32(f32x16 x) {
#ifdef __SSE4_1__
  return __builtin_elementwise_roundeven(x);
#else
  const f32x16 a = abs_f32(x), magic = splat_f32(0x1p23f);
  return a < magic ? copysign_f32((a + magic) - magic, x) : x;
#endif
}

//@ round_f64
INLINE f64x16 round_f64(f64x16 x) {
#ifdef __SSE4_1__
  return __builtin_elementwise_roundeven(x);
#else
  const f64x16 a = abs_f64(x), magic = splat_f64(0x1p52);
  return a < magic ? copysign_f64((a + magic) - magic, x) : x;
#endif
}

//@ floor_f32
INLINE f32x16 floor_f32(f32x16 x) {
#ifdef __SSE4_1__
  return __builtin_elementwise_floor(x);
#else
  const f32x16 r = round_f32(x);
  return r > x ? r - splat_f32(1.0f) : r;
#endif
}

//@ floor_f64
INLINE f64x16 floor_f64(f64x16 x) {
#ifdef __SSE4_1__
  return __builtin_elementwise_floor(x);
#else
  const f64x16 r = round_f64(x);
  return r > x ? r - splat_f64(1.0) : r;
#endif
}

//@ ceil_f32
INLINE f32x16 ceil_f32(f32x16 x) {
  return -floor_f32(-x);
}

//@ ceil_f64
INLINE f64x16 ceil_f64(f64x16 x) {
  return -floor_f64(-x);
}

//@ trunc_f64
INLINE f64x16 trunc_f64(f64x16 x) {
  return copysign_f64(floor_f64(abs_f64(x)), x);
}
