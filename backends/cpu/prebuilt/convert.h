// Conversions between element types. Floats to integers saturate, NaN gives 0.
// f16 and bf16 to f32 and back: widening is exact, narrowing rounds to nearest even, NaN stays NaN (quiet).
#pragma once

#include <cstdint>

#include "backends/cpu/prebuilt/element.h"
#include "backends/cpu/prebuilt/vec.h"

namespace edge_infer::EDGE_ISA {
namespace {

// Towards zero; below and above T's range its least and largest value, 0 for NaN. Written without branches,
// and without converting a value that does not fit, so that loops vectorize and nothing is undefined.
template <class T, class F>
EDGE_INLINE T saturate(F x) {
  constexpr bool kSigned = static_cast<T>(-1) < 0;
  constexpr T kMost = kSigned ? static_cast<T>((uint64_t{1} << (sizeof(T) * 8 - 1)) - 1) : static_cast<T>(-1);
  constexpr T kLeast = kSigned ? static_cast<T>(-kMost - 1) : T{0};
  constexpr F kEnd =
      static_cast<F>(uint64_t{1} << (sizeof(T) * 8 - (kSigned ? 1 : 0)));  // the first one above
  constexpr F kStart = static_cast<F>(kLeast);
  const F inside = ((x > kStart) & (x < kEnd)) ? x : F{0};
  const T whole = static_cast<T>(inside);
  const T low = x <= kStart ? kLeast : whole;
  return x >= kEnd ? kMost : low;
}

EDGE_INLINE float widen(BFloat x) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16);
}
EDGE_INLINE BFloat narrow_bfloat(float x) {
  const uint32_t u = __builtin_bit_cast(uint32_t, x);
  const uint32_t rounded = u + 0x7fffU + ((u >> 16) & 1U);
  const uint32_t chosen = (u & 0x7fffffffU) > 0x7f800000U ? (u | 0x400000U) : rounded;
  return {static_cast<uint16_t>(chosen >> 16)};
}

// The exponent is moved by a multiplication, which also normalizes subnormals.
EDGE_INLINE float widen(Half x) {
  const uint32_t magnitude = (static_cast<uint32_t>(x.bits) & 0x7fffU) << 13;
  const uint32_t sign = (static_cast<uint32_t>(x.bits) & 0x8000U) << 16;
  const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112F;
  // Infinity and NaN: keep the payload, set the exponent to all ones.
  const uint32_t special = 0x7f800000U | magnitude | (magnitude > 0x0f800000U ? 0x400000U : 0U);
  const uint32_t finite = __builtin_bit_cast(uint32_t, scaled);
  return __builtin_bit_cast(float, (magnitude >= 0x0f800000U ? special : finite) | sign);
}
EDGE_INLINE Half narrow_half(float x) {
  const uint32_t u = __builtin_bit_cast(uint32_t, x);
  const uint32_t sign = (u >> 16) & 0x8000U;
  const uint32_t magnitude = u & 0x7fffffffU;
  // Normal results: rebias the exponent and round on bit 13.
  const uint32_t normal = (magnitude + 0xc8000fffU + ((magnitude >> 13) & 1U)) >> 13;
  // Below 2^-14: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
  const uint32_t small =
      __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude) + 0.5F) - 0x3f000000U;
  uint32_t bits = magnitude < 0x38800000U ? small : normal;
  bits = magnitude >= 0x477ff000U ? 0x7c00U : bits;
  bits = magnitude > 0x7f800000U ? (0x7e00U | ((magnitude >> 13) & 0x3ffU)) : bits;
  return {static_cast<uint16_t>(bits | sign)};
}

inline void widen_all(const Half* from, float* to, int64_t n) {
  int64_t i = 0;
#if defined(__AVX2__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
  for (; i < n; ++i) to[i] = widen(from[i]);
}
inline void widen_all(const BFloat* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = widen(from[i]);
}
inline void narrow_all(const float* from, Half* to, int64_t n) {
  int64_t i = 0;
#if defined(__AVX2__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(to + i),
        _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
  for (; i < n; ++i) to[i] = narrow_half(from[i]);
}
inline void narrow_all(const float* from, BFloat* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = narrow_bfloat(from[i]);
}

}  // namespace
}  // namespace edge_infer::EDGE_ISA
