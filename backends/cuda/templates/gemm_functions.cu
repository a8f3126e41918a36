// Elements of 16 bits in pairs, and erf at their grade.

//@ least
inline i32 least(i32 a, i32 b) { return a < b ? a : b; }

//@ load_pair
// From shared memory.
inline float2 load_pair(u32 address) {
  float2 x;
  asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];" : "=f"(x.x), "=f"(x.y) : "r"(address) : "memory");
  return x;
}

//@ pair_from_f16
inline float2 pair_from_f16(u32 x) {
  float2 r;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}" : "=f"(r.x), "=f"(r.y) : "r"(x));
  return r;
}

//@ pair_from_bf16
inline float2 pair_from_bf16(u32 x) { return {__uint_as_float(x << 16), __uint_as_float(x & 0xffff0000u)}; }

//@ f16_from_pair
inline u32 f16_from_pair(float2 x) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(x.y), "f"(x.x));
  return r;
}

//@ bf16_from_pair
inline u32 bf16_from_pair(float2 x) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(x.y), "f"(x.x));
  return r;
}

//@ erf_plus_one
// erf(x) + 1 as 2 / (1 + 2^(x P(x^2))), within 7e-7 and without cancellation: for results that are rounded to 16 bits.
inline float erf_plus_one(float x) {
  const float s = fminf(x * x, 15.0f);
  float p = fmaf(8.70531324e-6f, s, -2.02737368e-4f), e, r;
  p = fmaf(p, s, 1.6457347e-3f);
  p = fmaf(p, s, 7.30099442e-4f);
  p = fmaf(p, s, -0.296611808f);
  p = fmaf(p, s, -3.25580464f);
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(p * x));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(1.0f + e));
  return r + r;
}

//@ fast_erf
inline float fast_erf(float x) { return erf_plus_one(x) - 1.0f; }

//@ gelu
// x (erf(x / sqrt(2)) + 1) / 2 as x / (1 + 2^(x P(x^2))): erf_plus_one() with its factors in P.
inline float gelu(float x) {
  const float s = fminf(x * x, 30.0f);
  float p = fmaf(1.92362063e-7f, s, -8.95981048e-6f), e, r;
  p = fmaf(p, s, 1.45463771e-4f);
  p = fmaf(p, s, 1.29064567e-4f);
  p = fmaf(p, s, -0.10486811f);
  p = fmaf(p, s, -2.30220154f);
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(p * x));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(1.0f + e));
  return x * r;
}
