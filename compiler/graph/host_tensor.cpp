#include "compiler/graph/host_tensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

namespace edge_infer {
namespace {

// A 16-bit float of `mantissa` explicit bits; the exponent takes the rest.
struct HalfFormat {
  int mantissa;
  int min_exponent;  // of the smallest normal number
  int max_exponent;  // of the largest finite number
};
constexpr HalfFormat kHalf = {10, -14, 15}, kBrain = {7, -126, 127};

double round_half(const HalfFormat& format, double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), format.min_exponent);
  const double unit = std::ldexp(1.0, exponent - format.mantissa);
  const double rounded = std::nearbyint(value / unit) * unit;  // exact: powers of two, ties to even
  const double limit = std::ldexp(2.0, format.max_exponent);
  return std::fabs(rounded) >= limit ? std::copysign(HUGE_VAL, value) : rounded;
}

uint16_t encode_half(const HalfFormat& format, double value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const int infinity = ((1 << (15 - format.mantissa)) - 1) << format.mantissa;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | infinity | (1 << (format.mantissa - 1)));
  const double magnitude = std::fabs(round_half(format, value));
  if (std::isinf(magnitude)) return static_cast<uint16_t>(sign | infinity);
  const int exponent =
      magnitude == 0 ? format.min_exponent : std::max(std::ilogb(magnitude), format.min_exponent);
  const auto digits = static_cast<int>(std::ldexp(magnitude, format.mantissa - exponent));
  // A normal number's leading digit adds 1 to the exponent field by itself.
  return static_cast<uint16_t>(sign | (((exponent - format.min_exponent) << format.mantissa) + digits));
}

double decode_half(const HalfFormat& format, uint16_t bits) {
  const int field = (bits & 0x7fff) >> format.mantissa, digits = bits & ((1 << format.mantissa) - 1);
  const int top = (1 << (15 - format.mantissa)) - 1;
  double magnitude = 0;
  if (field == top) {
    magnitude = digits != 0 ? NAN : HUGE_VAL;
  } else if (field == 0) {
    magnitude = std::ldexp(digits, format.min_exponent - format.mantissa);
  } else {
    magnitude =
        std::ldexp(digits + (1 << format.mantissa), format.min_exponent + field - 1 - format.mantissa);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

int64_t saturated(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return INT64_MAX;
  if (value < -0x1p63) return INT64_MIN;
  return static_cast<int64_t>(value);
}

// Calls f(typed pointer) for the element types that C++ has.
template <typename Byte, typename F>
void visit_plain(DType dtype, Byte* data, F&& f) {
  const auto call = [&]<typename T>(T) {
    using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;
    f(reinterpret_cast<Element*>(data));
  };
  switch (dtype) {
    case DType::kF32:
      return call(float{});
    case DType::kF64:
      return call(double{});
    case DType::kI64:
      return call(int64_t{});
    case DType::kI32:
      return call(int32_t{});
    case DType::kI16:
      return call(int16_t{});
    case DType::kI8:
      return call(int8_t{});
    case DType::kF16:
    case DType::kBF16:
      return call(uint16_t{});
    case DType::kU8:
    case DType::kBool:
      return call(uint8_t{});
  }
}

const HalfFormat* half_format(DType dtype) {
  return dtype == DType::kF16 ? &kHalf : dtype == DType::kBF16 ? &kBrain : nullptr;
}

template <typename T>
T narrow(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    const int64_t whole = saturated(value);
    if (whole < static_cast<int64_t>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (whole > static_cast<int64_t>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(whole);
  }
}

}  // namespace

int64_t HostTensor::elements() const {
  int64_t n = 1;
  for (const int64_t size : sizes) n *= size;
  return n;
}

std::vector<double> HostTensor::to_doubles() const {
  std::vector<double> values(static_cast<size_t>(elements()));
  const HalfFormat* half = half_format(dtype);
  visit_plain(dtype, bytes.data(), [&](const auto* data) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] =
          half != nullptr ? decode_half(*half, static_cast<uint16_t>(data[i])) : static_cast<double>(data[i]);
  });
  return values;
}

std::vector<int64_t> HostTensor::to_integers() const {
  std::vector<int64_t> values(static_cast<size_t>(elements()));
  if (is_floating(dtype)) {
    const std::vector<double> doubles = to_doubles();
    for (size_t i = 0; i < values.size(); ++i) values[i] = saturated(doubles[i]);
    return values;
  }
  visit_plain(dtype, bytes.data(), [&](const auto* data) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(data[i]);
  });
  return values;
}

void HostTensor::store(const std::vector<double>& values) {
  const HalfFormat* half = half_format(dtype);
  visit_plain(dtype, bytes.data(), [&](auto* data) {
    using T = std::remove_reference_t<decltype(*data)>;
    for (size_t i = 0; i < values.size(); ++i) {
      if (half != nullptr) {
        data[i] = static_cast<T>(encode_half(*half, values[i]));
      } else {
        data[i] = dtype == DType::kBool ? static_cast<T>(values[i] != 0) : narrow<T>(values[i]);
      }
    }
  });
}

void HostTensor::store(const std::vector<int64_t>& values) {
  if (is_floating(dtype)) return store(std::vector<double>(values.begin(), values.end()));
  visit_plain(dtype, bytes.data(), [&](auto* data) {
    using T = std::remove_reference_t<decltype(*data)>;
    for (size_t i = 0; i < values.size(); ++i)
      data[i] = dtype == DType::kBool ? static_cast<T>(values[i] != 0) : static_cast<T>(values[i]);
  });
}

Result<HostTensor> make_host_tensor(DType dtype, std::vector<int64_t> sizes, int64_t limit_bytes) {
  int64_t bytes = dtype_size(dtype);
  bool empty = false;
  for (const int64_t size : sizes) {
    if (size < 0)
      return fail(ErrorCode::kInvalidArgument, "a tensor of sizes {} has a negative one", print_sizes(sizes));
    empty = empty || size == 0;
  }
  for (const int64_t size : sizes)
    if (!empty && (__builtin_mul_overflow(bytes, size, &bytes) || bytes > limit_bytes))
      return fail(ErrorCode::kResourceExhausted,
                  "a {} tensor of sizes {} is larger than the limit of {} bytes", dtype_name(dtype),
                  print_sizes(sizes), limit_bytes);
  HostTensor tensor{dtype, std::move(sizes), {}};
  tensor.bytes.resize(empty ? 0 : static_cast<size_t>(bytes));
  return tensor;
}

double round_to(DType dtype, double value) {
  if (const HalfFormat* half = half_format(dtype)) return round_half(*half, value);
  return dtype == DType::kF32 ? static_cast<double>(static_cast<float>(value)) : value;
}

std::string print_sizes(const std::vector<int64_t>& sizes) {
  std::string out = "[";
  for (size_t i = 0; i < sizes.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  return out + ']';
}

}  // namespace edge_infer
