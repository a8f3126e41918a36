#include "models/packing/convert.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace edge_infer {
namespace {

float half_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  uint32_t exponent = (h >> 10) & 0x1fu, mantissa = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    // Subnormal: value = mantissa * 2^-24, exact in f32.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

// Tensor data may lie at any address.
template <typename T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

}  // namespace

Status convert_to_f32(const WeightView& view, std::string_view name, std::span<float> out) {
  const std::byte* in = view.bytes.data();
  switch (view.dtype) {
    case DType::kF32:
      std::memcpy(out.data(), in, out.size_bytes());
      return {};
    case DType::kF64:
      for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(load<double>(in + 8 * i));
      return {};
    case DType::kF16:
      for (size_t i = 0; i < out.size(); ++i) out[i] = half_to_float(load<uint16_t>(in + 2 * i));
      return {};
    case DType::kBF16:
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(in + 2 * i)) << 16);
      return {};
    default:
      return fail(ErrorCode::kUnsupported, "tensor \"{}\" has dtype {}, expected a floating type", name,
                  dtype_name(view.dtype));
  }
}

}  // namespace edge_infer
