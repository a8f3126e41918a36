// Rounding of f32 to the 16-bit types, nearest even, as the processors' own conversions do.
#pragma once

#include <bit>
#include <cstdint>

namespace edge_infer {

// IEEE 754 binary16. Infinite from 65520 in magnitude on; a NaN becomes a quiet one with its sign.
constexpr uint16_t f16_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x38800000U) {
    // Below 2^-14: adding 0.5 leaves a multiple of 2^-24 in the low bits, rounded as the hardware rounds.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000U));
  }
  const uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1U);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

// bfloat16: the upper half of an f32. A NaN becomes a quiet one.
constexpr uint16_t bf16_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>((bits | 0x400000U) >> 16);
  return static_cast<uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

}  // namespace edge_infer
