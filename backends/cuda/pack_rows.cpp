#include "backends/cuda/pack_rows.h"

#include <cmath>
#include <cstring>

#include "runtime/base/half.h"

namespace edge_infer::cuda {
namespace {

constexpr uint16_t kInfinity16 = 0x7c00;

}  // namespace

Result<DType> packed_type(std::string_view format) {
  if (format == "nk.f16") return DType::kF16;
  if (format == "nk.bf16") return DType::kBF16;
  if (format == "nk.f32") return DType::kF32;
  return fail(ErrorCode::kUnsupported, "cuda packs \"nk.f16\", \"nk.bf16\" and \"nk.f32\", not \"{}\"",
              format);
}

Status pack_rows(DType type, std::span<const Device::Rows> sources, int64_t k, std::span<std::byte> out) {
  std::byte* at = out.data();
  int64_t first = 0;
  for (const Device::Rows& source : sources) {
    const auto count = static_cast<size_t>(source.rows * k);
    if (type == DType::kF32) {
      if (count > 0) std::memcpy(at, source.data, count * sizeof(float));
      at += count * sizeof(float);
    } else {
      for (size_t i = 0; i < count; ++i) {
        const float value = source.data[i];
        const uint16_t narrow = type == DType::kF16 ? f16_of(value) : bf16_of(value);
        if (type == DType::kF16 && (narrow & 0x7fffU) == kInfinity16 && std::isfinite(value))
          return fail(ErrorCode::kUnsupported,
                      "a weight is {} at row {}, column {}, but f16 holds at most 65504; bf16 and fp32 do",
                      value, first + static_cast<int64_t>(i) / k, static_cast<int64_t>(i) % k);
        std::memcpy(at, &narrow, sizeof(narrow));
        at += sizeof(narrow);
      }
    }
    first += source.rows;
  }
  return {};
}

}  // namespace edge_infer::cuda
