#include "backends/cuda/codegen/cuda_text.h"

#include <cmath>

#include "backends/cuda/codegen/embedded_sources.h"
#include "compiler/codegen/prelude_segments.h"

namespace edge_infer::cuda {

std::string_view lane_name(Lane lane) {
  switch (lane) {
    case Lane::kF32:
      return "f32";
    case Lane::kF64:
      return "f64";
    case Lane::kI32:
      return "i32";
    case Lane::kI64:
      return "i64";
    case Lane::kBool:
      return "bool";
  }
  return "";
}

std::string_view scalar_type(Lane lane) {
  switch (lane) {
    case Lane::kF32:
      return "float";
    case Lane::kF64:
      return "double";
    default:
      return lane_name(lane);
  }
}

std::string_view memory_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kF16:
    case DType::kBF16:
      return "u16";
    case DType::kBool:
      return "u8";
    default:
      return dtype_name(dtype);
  }
}

std::string number_literal(double value, Lane lane) {
  const bool narrow = lane == Lane::kF32;
  // The conversion that the compiler would do, made visible.
  if (narrow) value = static_cast<double>(static_cast<float>(value));
  if (std::isnan(value))
    return narrow ? "__int_as_float(0x7fffffff)" : "__longlong_as_double(0x7ff8000000000000ll)";
  const char* sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value))
    return fmt::format("{}{}", sign,
                       narrow ? "__int_as_float(0x7f800000)" : "__longlong_as_double(0x7ff0000000000000ll)");
  const double magnitude = std::fabs(value);
  // Short decimals that are exact read better than hexadecimal.
  if (magnitude == std::floor(magnitude) && magnitude < 1e6)
    return fmt::format("{}{:.1f}{}", sign, magnitude, narrow ? "f" : "");
  return fmt::format("{}{:a}{}", sign, magnitude, narrow ? "f" : "");
}

std::string integer_literal(int64_t value, Lane lane) {
  if (lane == Lane::kBool) return value != 0 ? "true" : "false";
  if (lane == Lane::kI32)
    return value == INT32_MIN ? "(-2147483647 - 1)" : fmt::format("{}", static_cast<int32_t>(value));
  if (value == INT64_MIN) return "(-9223372036854775807ll - 1)";
  return fmt::format("{}ll", value);
}

std::string select_prelude(std::string_view kernel) {
  static const codegen::PreludeSegments prelude(embedded_source("prelude.cu"));
  return prelude.select(kernel);
}

bool names(std::string_view text, std::string_view identifier) {
  bool found = false;
  codegen::for_each_identifier(text, [&](std::string_view word) { found = found || word == identifier; });
  return found;
}

}  // namespace edge_infer::cuda
