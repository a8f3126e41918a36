// F32: sixteen float lanes in every instruction set (one zmm, two ymm, four 128-bit registers), so that lane
// arithmetic, reduction order and therefore results do not depend on the register width. I32 and Mask go with
// it.
//
// Only *_isa.cpp include this. Everything is forced inline and in namespace edge_infer::EDGE_ISA: no function
// compiled for one instruction set may be linked into another. For the same reason these files use no
// out-of-line templates.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__x86_64__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#ifndef EDGE_ISA
#error "compiled once an instruction set: see CMakeLists.txt"
#endif

#define EDGE_INLINE static inline __attribute__((always_inline))
#define EDGE_NOINLINE static __attribute__((noinline))
#if defined(__clang__)
#define EDGE_UNROLL _Pragma("clang loop unroll(full)")
#define EDGE_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define EDGE_UNROLL _Pragma("GCC unroll 64")
#define EDGE_ROLLED _Pragma("GCC unroll 1")
#endif

namespace edge_infer::EDGE_ISA {

inline constexpr int kLanes = 16;
#if defined(__AVX512F__)
inline constexpr int kPartLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kPartLanes = 8;
#else
inline constexpr int kPartLanes = 4;
#endif
inline constexpr int kParts = kLanes / kPartLanes;
// Registers that hold vectors; tiles are sized by it.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kVectorRegisters = 32;
#else
inline constexpr int kVectorRegisters = 16;
#endif

typedef float f32p __attribute__((vector_size(kPartLanes * 4), may_alias));
typedef int32_t i32p __attribute__((vector_size(kPartLanes * 4), may_alias));
typedef uint32_t u32p __attribute__((vector_size(kPartLanes * 4), may_alias));
typedef float f32pu __attribute__((vector_size(kPartLanes * 4), aligned(4), may_alias));
typedef int32_t i32pu __attribute__((vector_size(kPartLanes * 4), aligned(4), may_alias));

struct F32 {
  f32p part[kParts];
};
struct I32 {
  i32p part[kParts];
};
#if defined(__AVX512F__)
struct Mask {
  __mmask16 bits;
};
#else
struct Mask {
  i32p part[kParts];  // all ones or all zeros a lane
};
#endif

#define EDGE_PARTS EDGE_UNROLL for (int i = 0; i < kParts; ++i)

// ---- make, load, store
// -------------------------------------------------------------------------------------------

EDGE_INLINE F32 splat(float x) {
  F32 r;
  EDGE_PARTS r.part[i] = x - f32p{};
  return r;
}
EDGE_INLINE I32 splat_i32(int32_t x) {
  I32 r;
  EDGE_PARTS r.part[i] = x - i32p{};
  return r;
}
EDGE_INLINE F32 zeros() {
  F32 r;
  EDGE_PARTS r.part[i] = f32p{};
  return r;
}
EDGE_INLINE I32 iota_i32() {
  alignas(64) static constexpr int32_t kIota[kLanes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  I32 r;
  EDGE_PARTS r.part[i] = *reinterpret_cast<const i32p*>(kIota + i * kPartLanes);
  return r;
}
EDGE_INLINE F32 load(const float* p) {
  F32 r;
  EDGE_PARTS r.part[i] = *reinterpret_cast<const f32pu*>(p + i * kPartLanes);
  return r;
}
EDGE_INLINE I32 load(const int32_t* p) {
  I32 r;
  EDGE_PARTS r.part[i] = *reinterpret_cast<const i32pu*>(p + i * kPartLanes);
  return r;
}
EDGE_INLINE void store(float* p, F32 x) {
  EDGE_PARTS* reinterpret_cast<f32pu*>(p + i * kPartLanes) = x.part[i];
}
EDGE_INLINE void store(int32_t* p, I32 x) {
  EDGE_PARTS* reinterpret_cast<i32pu*>(p + i * kPartLanes) = x.part[i];
}

// ---- comparisons, masks
// ------------------------------------------------------------------------------------------

#if defined(__AVX512F__)
#define EDGE_COMPARE(name, op, immediate)                                         \
  EDGE_INLINE Mask name(F32 a, F32 b) {                                           \
    return {_mm512_cmp_ps_mask((__m512)a.part[0], (__m512)b.part[0], immediate)}; \
  }
#else
#define EDGE_COMPARE(name, op, immediate)                  \
  EDGE_INLINE Mask name(F32 a, F32 b) {                    \
    Mask r;                                                \
    EDGE_PARTS r.part[i] = (i32p)(a.part[i] op b.part[i]); \
    return r;                                              \
  }
#endif
// IEEE: every comparison with NaN is false, except operator!=.
EDGE_COMPARE(operator<, <, _CMP_LT_OQ)
EDGE_COMPARE(operator<=, <=, _CMP_LE_OQ)
EDGE_COMPARE(operator>, >, _CMP_GT_OQ)
EDGE_COMPARE(operator>=, >=, _CMP_GE_OQ)
EDGE_COMPARE(operator==, ==, _CMP_EQ_OQ)
EDGE_COMPARE(operator!=, !=, _CMP_NEQ_UQ)
#undef EDGE_COMPARE

EDGE_INLINE Mask is_nan(F32 x) {
  return x != x;
}

#if defined(__AVX512F__)
EDGE_INLINE Mask operator&(Mask a, Mask b) {
  return {static_cast<__mmask16>(a.bits & b.bits)};
}
EDGE_INLINE Mask operator|(Mask a, Mask b) {
  return {static_cast<__mmask16>(a.bits | b.bits)};
}
EDGE_INLINE Mask operator^(Mask a, Mask b) {
  return {static_cast<__mmask16>(a.bits ^ b.bits)};
}
EDGE_INLINE Mask operator~(Mask a) {
  return {static_cast<__mmask16>(~a.bits)};
}
// Bit l is lane l.
EDGE_INLINE uint32_t bits(Mask m) {
  return m.bits;
}
EDGE_INLINE Mask mask_from_bits(uint32_t b) {
  return {static_cast<__mmask16>(b)};
}
EDGE_INLINE F32 select(Mask m, F32 a, F32 b) {  // m ? a : b
  return {{(f32p)_mm512_mask_blend_ps(m.bits, (__m512)b.part[0], (__m512)a.part[0])}};
}
EDGE_INLINE I32 select(Mask m, I32 a, I32 b) {
  return {{(i32p)_mm512_mask_blend_epi32(m.bits, (__m512i)b.part[0], (__m512i)a.part[0])}};
}
EDGE_INLINE Mask equal(I32 a, I32 b) {
  return {_mm512_cmpeq_epi32_mask((__m512i)a.part[0], (__m512i)b.part[0])};
}
EDGE_INLINE Mask less(I32 a, I32 b) {
  return {_mm512_cmplt_epi32_mask((__m512i)a.part[0], (__m512i)b.part[0])};
}
#else
EDGE_INLINE Mask operator&(Mask a, Mask b) {
  EDGE_PARTS a.part[i] &= b.part[i];
  return a;
}
EDGE_INLINE Mask operator|(Mask a, Mask b) {
  EDGE_PARTS a.part[i] |= b.part[i];
  return a;
}
EDGE_INLINE Mask operator^(Mask a, Mask b) {
  EDGE_PARTS a.part[i] ^= b.part[i];
  return a;
}
EDGE_INLINE Mask operator~(Mask a) {
  EDGE_PARTS a.part[i] = ~a.part[i];
  return a;
}
EDGE_INLINE uint32_t bits(Mask m) {
#if defined(__AVX2__)
  return static_cast<uint32_t>(_mm256_movemask_ps((__m256)m.part[0])) |
         (static_cast<uint32_t>(_mm256_movemask_ps((__m256)m.part[1])) << 8);
#elif defined(__x86_64__)
  uint32_t r = 0;
  EDGE_PARTS r |= static_cast<uint32_t>(_mm_movemask_ps((__m128)m.part[i])) << (4 * i);
  return r;
#else
  uint32_t r = 0;
  EDGE_PARTS EDGE_UNROLL for (int l = 0; l < kPartLanes; ++l) r |= (m.part[i][l] != 0 ? 1U : 0U)
                                                                   << (i * kPartLanes + l);
  return r;
#endif
}
EDGE_INLINE F32 select(Mask m, F32 a, F32 b) {
  F32 r;
#if defined(__AVX2__)
  EDGE_PARTS r.part[i] = (f32p)_mm256_blendv_ps((__m256)b.part[i], (__m256)a.part[i], (__m256)m.part[i]);
#else
  EDGE_PARTS r.part[i] = (f32p)(((i32p)a.part[i] & m.part[i]) | ((i32p)b.part[i] & ~m.part[i]));
#endif
  return r;
}
EDGE_INLINE I32 select(Mask m, I32 a, I32 b) {
  I32 r;
  EDGE_PARTS r.part[i] = (a.part[i] & m.part[i]) | (b.part[i] & ~m.part[i]);
  return r;
}
EDGE_INLINE Mask equal(I32 a, I32 b) {
  Mask r;
  EDGE_PARTS r.part[i] = (i32p)(a.part[i] == b.part[i]);
  return r;
}
EDGE_INLINE Mask less(I32 a, I32 b) {
  Mask r;
  EDGE_PARTS r.part[i] = (i32p)(a.part[i] < b.part[i]);
  return r;
}
EDGE_INLINE Mask mask_from_bits(uint32_t b) {
  const I32 lane = iota_i32();
  Mask r;
  EDGE_PARTS r.part[i] = -((static_cast<int32_t>(b) >> lane.part[i]) & 1);
  return r;
}
#endif
EDGE_INLINE bool any(Mask m) {
  return bits(m) != 0;
}
EDGE_INLINE bool all(Mask m) {
  return bits(m) == 0xffff;
}

// The first n lanes, n in 0..16.
EDGE_INLINE Mask first_lanes(int64_t n) {
#if defined(__AVX512F__)
  return {static_cast<__mmask16>((1U << n) - 1)};
#else
  return less(iota_i32(), splat_i32(static_cast<int32_t>(n)));
#endif
}

// The first n elements at p, n in 0..16; other lanes are 0. Touches nothing beyond them.
EDGE_INLINE F32 load(const float* p, int64_t n) {
#if defined(__AVX512F__)
  return {{(f32p)_mm512_maskz_loadu_ps(first_lanes(n).bits, p)}};
#elif defined(__AVX2__)
  const Mask m = first_lanes(n);
  return {
      {(f32p)_mm256_maskload_ps(p, (__m256i)m.part[0]), (f32p)_mm256_maskload_ps(p + 8, (__m256i)m.part[1])}};
#else
  alignas(64) float lanes[kLanes] = {};
  for (int64_t l = 0; l < n; ++l) lanes[l] = p[l];
  return load(lanes);
#endif
}
EDGE_INLINE I32 load(const int32_t* p, int64_t n) {
  const F32 x = load(reinterpret_cast<const float*>(p), n);
  I32 r;
  EDGE_PARTS r.part[i] = (i32p)x.part[i];
  return r;
}
EDGE_INLINE void store(float* p, F32 x, int64_t n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, first_lanes(n).bits, (__m512)x.part[0]);
#elif defined(__AVX2__)
  const Mask m = first_lanes(n);
  _mm256_maskstore_ps(p, (__m256i)m.part[0], (__m256)x.part[0]);
  _mm256_maskstore_ps(p + 8, (__m256i)m.part[1], (__m256)x.part[1]);
#else
  alignas(64) float lanes[kLanes];
  store(lanes, x);
  for (int64_t l = 0; l < n; ++l) p[l] = lanes[l];
#endif
}
EDGE_INLINE void store(int32_t* p, I32 x, int64_t n) {
  F32 f;
  EDGE_PARTS f.part[i] = (f32p)x.part[i];
  store(reinterpret_cast<float*>(p), f, n);
}

// ---- arithmetic
// --------------------------------------------------------------------------------------------------

#define EDGE_BINARY(type, op)                          \
  EDGE_INLINE type operator op(type a, type b) {       \
    EDGE_PARTS a.part[i] = a.part[i] op b.part[i];     \
    return a;                                          \
  }                                                    \
  EDGE_INLINE type& operator op##=(type & a, type b) { \
    return a = a op b;                                 \
  }
EDGE_BINARY(F32, +)
EDGE_BINARY(F32, -)
EDGE_BINARY(F32, *)
EDGE_BINARY(F32, /)
EDGE_BINARY(I32, &)
EDGE_BINARY(I32, |)
EDGE_BINARY(I32, ^)
#undef EDGE_BINARY
// Integers wrap.
#define EDGE_WRAPPING(op)                                              \
  EDGE_INLINE I32 operator op(I32 a, I32 b) {                          \
    EDGE_PARTS a.part[i] = (i32p)((u32p)a.part[i] op(u32p) b.part[i]); \
    return a;                                                          \
  }
EDGE_WRAPPING(+)
EDGE_WRAPPING(-)
EDGE_WRAPPING(*)
#undef EDGE_WRAPPING
EDGE_INLINE I32 shift_left(I32 a, int n) {
  EDGE_PARTS a.part[i] = (i32p)((u32p)a.part[i] << n);
  return a;
}
EDGE_INLINE I32 shift_right(I32 a, int n) {  // arithmetic
  EDGE_PARTS a.part[i] = a.part[i] >> n;
  return a;
}
EDGE_INLINE I32 bits_of(F32 x) {
  I32 r;
  EDGE_PARTS r.part[i] = (i32p)x.part[i];
  return r;
}
EDGE_INLINE F32 from_bits(I32 x) {
  F32 r;
  EDGE_PARTS r.part[i] = (f32p)x.part[i];
  return r;
}
EDGE_INLINE F32 operator-(F32 x) {
  return from_bits(bits_of(x) ^ splat_i32(INT32_MIN));
}
EDGE_INLINE F32 abs(F32 x) {
  return from_bits(bits_of(x) & splat_i32(INT32_MAX));
}
EDGE_INLINE F32 copysign(F32 magnitude, F32 sign) {
  return from_bits((bits_of(magnitude) & splat_i32(INT32_MAX)) | (bits_of(sign) & splat_i32(INT32_MIN)));
}

// a * b + c in one rounding where the instruction set has it, else in two (class f32.k1 of that set).
EDGE_INLINE f32p fma_part(f32p a, f32p b, f32p c) {
#if defined(__AVX512F__)
  return (f32p)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
  return (f32p)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
  return (f32p)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}
EDGE_INLINE F32 fma(F32 a, F32 b, F32 c) {
  EDGE_PARTS c.part[i] = fma_part(a.part[i], b.part[i], c.part[i]);
  return c;
}
// c - a * b.
EDGE_INLINE F32 fnma(F32 a, F32 b, F32 c) {
  return fma(-a, b, c);
}

EDGE_INLINE F32 sqrt(F32 x) {
#if defined(__AVX512F__)
  return {{(f32p)_mm512_sqrt_ps((__m512)x.part[0])}};
#elif defined(__AVX2__)
  EDGE_PARTS x.part[i] = (f32p)_mm256_sqrt_ps((__m256)x.part[i]);
  return x;
#elif defined(__x86_64__)
  EDGE_PARTS x.part[i] = (f32p)_mm_sqrt_ps((__m128)x.part[i]);
  return x;
#elif defined(__aarch64__)
  EDGE_PARTS x.part[i] = (f32p)vsqrtq_f32((float32x4_t)x.part[i]);
  return x;
#else
  EDGE_PARTS for (int l = 0; l < kPartLanes; ++l) x.part[i][l] = __builtin_sqrtf(x.part[i][l]);
  return x;
#endif
}

// The larger (smaller) operand; b where either is NaN. One instruction on x86.
EDGE_INLINE F32 max_or_second(F32 a, F32 b) {
#if defined(__AVX512F__)
  return {{(f32p)_mm512_max_ps((__m512)a.part[0], (__m512)b.part[0])}};
#elif defined(__AVX2__)
  EDGE_PARTS a.part[i] = (f32p)_mm256_max_ps((__m256)a.part[i], (__m256)b.part[i]);
  return a;
#elif defined(__x86_64__)
  EDGE_PARTS a.part[i] = (f32p)_mm_max_ps((__m128)a.part[i], (__m128)b.part[i]);
  return a;
#else
  return select(a > b, a, b);
#endif
}
EDGE_INLINE F32 min_or_second(F32 a, F32 b) {
#if defined(__AVX512F__)
  return {{(f32p)_mm512_min_ps((__m512)a.part[0], (__m512)b.part[0])}};
#elif defined(__AVX2__)
  EDGE_PARTS a.part[i] = (f32p)_mm256_min_ps((__m256)a.part[i], (__m256)b.part[i]);
  return a;
#elif defined(__x86_64__)
  EDGE_PARTS a.part[i] = (f32p)_mm_min_ps((__m128)a.part[i], (__m128)b.part[i]);
  return a;
#else
  return select(a < b, a, b);
#endif
}
// ATen's maximum and minimum: NaN where either operand is NaN.
EDGE_INLINE F32 max(F32 a, F32 b) {
  return select(is_nan(a), a, max_or_second(a, b));
}
EDGE_INLINE F32 min(F32 a, F32 b) {
  return select(is_nan(a), a, min_or_second(a, b));
}

// ---- rounding, conversion
// ----------------------------------------------------------------------------------------

// Towards zero; lanes that do not fit give INT32_MIN on x86 and are unspecified elsewhere.
EDGE_INLINE I32 to_i32_truncate(F32 x) {
  I32 r;
#if defined(__AVX512F__)
  r.part[0] = (i32p)_mm512_cvttps_epi32((__m512)x.part[0]);
#elif defined(__AVX2__)
  EDGE_PARTS r.part[i] = (i32p)_mm256_cvttps_epi32((__m256)x.part[i]);
#elif defined(__x86_64__)
  EDGE_PARTS r.part[i] = (i32p)_mm_cvttps_epi32((__m128)x.part[i]);
#else
  EDGE_PARTS r.part[i] = __builtin_convertvector(x.part[i], i32p);
#endif
  return r;
}
EDGE_INLINE F32 to_f32(I32 x) {
  F32 r;
  EDGE_PARTS r.part[i] = __builtin_convertvector(x.part[i], f32p);
  return r;
}

#if !defined(__AVX2__)
// Large values (and NaN) are whole already; the sign survives, so that -0.5 gives -0.
EDGE_INLINE F32 round_small(F32 x, F32 rounded) {
  return select(abs(x) < splat(8388608.0F), copysign(rounded, x), x);
}
#endif
EDGE_INLINE F32 round_even(F32 x) {
#if defined(__AVX512F__)
  return {{(f32p)_mm512_roundscale_ps((__m512)x.part[0], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}};
#elif defined(__AVX2__)
  EDGE_PARTS x.part[i] =
      (f32p)_mm256_round_ps((__m256)x.part[i], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  return x;
#else
  const F32 magic = splat(8388608.0F);
  return round_small(x, (abs(x) + magic) - magic);
#endif
}
EDGE_INLINE F32 trunc(F32 x) {
#if defined(__AVX512F__)
  return {{(f32p)_mm512_roundscale_ps((__m512)x.part[0], _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)}};
#elif defined(__AVX2__)
  EDGE_PARTS x.part[i] = (f32p)_mm256_round_ps((__m256)x.part[i], _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  return x;
#else
  const F32 small = select(abs(x) < splat(8388608.0F), x, zeros());
  return round_small(x, to_f32(to_i32_truncate(small)));
#endif
}
EDGE_INLINE F32 floor(F32 x) {
#if defined(__AVX512F__)
  return {{(f32p)_mm512_roundscale_ps((__m512)x.part[0], _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)}};
#elif defined(__AVX2__)
  EDGE_PARTS x.part[i] = (f32p)_mm256_round_ps((__m256)x.part[i], _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  return x;
#else
  const F32 t = trunc(x);
  return select(t > x, t - splat(1.0F), t);
#endif
}
EDGE_INLINE F32 ceil(F32 x) {
  return -floor(-x);
}

// ---- reductions: lanes folded by halves (16 -> 8 -> 4 -> 2 -> 1), the same in every set
// -----------------------------

EDGE_INLINE float add1(float a, float b) {
  return a + b;
}
EDGE_INLINE float mul1(float a, float b) {
  return a * b;
}
EDGE_INLINE float largest1(float a, float b) {
  return a > b ? a : b;
}
// NaN wins.
EDGE_INLINE float max1(float a, float b) {
  return a > b || a != a ? a : b;
}
EDGE_INLINE float min1(float a, float b) {
  return a < b || a != a ? a : b;
}
#if defined(__AVX2__)
EDGE_INLINE __m128 add1(__m128 a, __m128 b) {
  return _mm_add_ps(a, b);
}
EDGE_INLINE __m128 mul1(__m128 a, __m128 b) {
  return _mm_mul_ps(a, b);
}
EDGE_INLINE __m128 largest1(__m128 a, __m128 b) {
  return _mm_max_ps(a, b);
}
EDGE_INLINE __m128 max1(__m128 a, __m128 b) {
  return _mm_blendv_ps(_mm_max_ps(a, b), a, _mm_cmpunord_ps(a, a));
}
EDGE_INLINE __m128 min1(__m128 a, __m128 b) {
  return _mm_blendv_ps(_mm_min_ps(a, b), a, _mm_cmpunord_ps(a, a));
}
EDGE_INLINE void quarters(F32 x, __m128 (&q)[4]) {
#if defined(__AVX512F__)
  const __m512 z = (__m512)x.part[0];
  q[0] = _mm512_castps512_ps128(z);
  q[1] = _mm512_extractf32x4_ps(z, 1);
  q[2] = _mm512_extractf32x4_ps(z, 2);
  q[3] = _mm512_extractf32x4_ps(z, 3);
#else
  EDGE_PARTS {
    q[2 * i] = _mm256_castps256_ps128((__m256)x.part[i]);
    q[2 * i + 1] = _mm256_extractf128_ps((__m256)x.part[i], 1);
  }
#endif
}
#define EDGE_FOLD(name, combine)                                  \
  EDGE_INLINE float name(F32 x) {                                 \
    __m128 q[4];                                                  \
    quarters(x, q);                                               \
    __m128 s = combine(combine(q[0], q[2]), combine(q[1], q[3])); \
    s = combine(s, _mm_movehl_ps(s, s));                          \
    return _mm_cvtss_f32(combine(s, _mm_shuffle_ps(s, s, 1)));    \
  }
#else
#define EDGE_FOLD(name, combine)                                            \
  EDGE_INLINE float name(F32 x) {                                           \
    alignas(64) float s[kLanes];                                            \
    store(s, x);                                                            \
    EDGE_UNROLL for (int l = 0; l < 8; ++l) s[l] = combine(s[l], s[l + 8]); \
    EDGE_UNROLL for (int l = 0; l < 4; ++l) s[l] = combine(s[l], s[l + 4]); \
    EDGE_UNROLL for (int l = 0; l < 2; ++l) s[l] = combine(s[l], s[l + 2]); \
    return combine(s[0], s[1]);                                             \
  }
#endif
EDGE_FOLD(fold_sum, add1)
EDGE_FOLD(fold_product, mul1)
EDGE_FOLD(fold_max, max1)
EDGE_FOLD(fold_min, min1)
EDGE_FOLD(fold_largest, largest1)  // of numbers; NaN may or may not show
#undef EDGE_FOLD

// ---- half precision
// ----------------------------------------------------------------------------------------------

EDGE_INLINE F32 load_bf16(const uint16_t* p) {
  I32 r;
  typedef uint16_t u16p __attribute__((vector_size(kPartLanes * 2), aligned(2), may_alias));
  EDGE_PARTS r.part[i] =
      (i32p)(__builtin_convertvector(*reinterpret_cast<const u16p*>(p + i * kPartLanes), u32p) << 16);
  return from_bits(r);
}
// Nearest even; NaN stays NaN (quiet).
EDGE_INLINE void store_bf16(uint16_t* p, F32 x) {
  typedef uint16_t u16p __attribute__((vector_size(kPartLanes * 2), aligned(2), may_alias));
  const I32 u = bits_of(x);
  const I32 odd = shift_right(u, 16) & splat_i32(1);
  const I32 rounded = u + splat_i32(0x7fff) + odd;
  const I32 chosen = select(is_nan(x), u | splat_i32(0x400000), rounded);
  EDGE_PARTS* reinterpret_cast<u16p*>(p + i * kPartLanes) =
      __builtin_convertvector((u32p)chosen.part[i] >> 16, u16p);
}

EDGE_INLINE F32 load_f16(const uint16_t* p) {
#if defined(__AVX512F__)
  return {{(f32p)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))}};
#elif defined(__AVX2__)
  F32 r;
  EDGE_PARTS r.part[i] = (f32p)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8 * i)));
  return r;
#else
  // The exponent is rebased by a multiplication, which also makes subnormals right; infinity and NaN are set
  // apart.
  typedef uint16_t u16p __attribute__((vector_size(kPartLanes * 2), aligned(2), may_alias));
  F32 r;
  EDGE_PARTS {
    const u32p h = __builtin_convertvector(*reinterpret_cast<const u16p*>(p + i * kPartLanes), u32p);
    const f32p rebased = (f32p)((h & 0x7fffU) << 13) * 0x1p112F;
    const u32p special = (u32p)((h & 0x7c00U) == 0x7c00U) & 0x7f800000U;
    r.part[i] = (f32p)((u32p)rebased | special | ((h & 0x8000U) << 16));
  }
  return r;
#endif
}
// Nearest even.
EDGE_INLINE void store_f16(uint16_t* p, F32 x) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph((__m512)x.part[0], _MM_FROUND_TO_NEAREST_INT));
#elif defined(__AVX2__)
  EDGE_PARTS _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8 * i),
                              _mm256_cvtps_ph((__m256)x.part[i], _MM_FROUND_TO_NEAREST_INT));
#else
  alignas(64) int32_t lanes[kLanes];
  store(lanes, bits_of(x));
  for (int l = 0; l < kLanes; ++l) {
    const auto u = static_cast<uint32_t>(lanes[l]);
    const uint32_t sign = (u >> 16) & 0x8000U, magnitude = u & 0x7fffffffU;
    uint32_t h = 0;
    if (magnitude > 0x7f800000U)
      h = 0x7e00U | ((magnitude >> 13) & 0x3ffU);  // NaN, quiet
    else if (magnitude >= 0x477ff000U)
      h = 0x7c00U;  // 65520 and more round to infinity
    else if (magnitude >= 0x38800000U)
      h = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
    else  // subnormal: adding 0.5 puts the rounded units of 2^-24 into the low bits
      h = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude) + 0.5F) - 0x3f000000U;
    p[l] = static_cast<uint16_t>(sign | h);
  }
#endif
}

// min and max of integers, in place of std::min and std::max (see the top).
template <typename T>
EDGE_INLINE T smaller(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
EDGE_INLINE T larger(T a, T b) {
  return a < b ? b : a;
}

}  // namespace edge_infer::EDGE_ISA
