#include "backends/cpu/codegen/c_text.h"

#include <cmath>
#include <cstdint>

namespace edge_infer::cpu_codegen {

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
      return "b32";
  }
  return "";
}

std::string_view scalar_type(Lane lane) {
  switch (lane) {
    case Lane::kF32:
      return "float";
    case Lane::kF64:
      return "double";
    case Lane::kI64:
      return "int64_t";
    default:
      return "int32_t";
  }
}

std::string_view vector_type(Lane lane) {
  switch (lane) {
    case Lane::kF32:
      return "f32x16";
    case Lane::kF64:
      return "f64x16";
    case Lane::kI32:
      return "i32x16";
    case Lane::kI64:
      return "i64x16";
    case Lane::kBool:
      return "b32x16";
  }
  return "";
}

std::string_view memory_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kF16:
    case DType::kBF16:
      return "uint16_t";
    case DType::kI64:
      return "int64_t";
    case DType::kI32:
      return "int32_t";
    case DType::kI16:
      return "int16_t";
    case DType::kI8:
      return "int8_t";
    case DType::kU8:
    case DType::kBool:
      return "uint8_t";
  }
  return "";
}

std::string number_literal(double value, Lane lane) {
  const bool narrow = lane == Lane::kF32;
  // The conversion that the compiler would do, made visible.
  if (narrow) value = static_cast<double>(static_cast<float>(value));
  if (std::isnan(value)) return narrow ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
  const char* sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value)) return fmt::format("{}{}", sign, narrow ? "__builtin_inff()" : "__builtin_inf()");
  const double magnitude = std::fabs(value);
  // Short decimals that are exact read better than hexadecimal.
  if (magnitude == std::floor(magnitude) && magnitude < 1e6)
    return fmt::format("{}{:.1f}{}", sign, magnitude, narrow ? "f" : "");
  return fmt::format("{}{:a}{}", sign, magnitude, narrow ? "f" : "");
}

std::string integer_literal(int64_t value, Lane lane) {
  if (lane == Lane::kBool) return value != 0 ? "1" : "0";
  if (lane == Lane::kI32)
    return value == INT32_MIN ? "(-2147483647 - 1)" : fmt::format("{}", static_cast<int32_t>(value));
  if (value == INT64_MIN) return "(-9223372036854775807l - 1)";
  return fmt::format("{}l", value);
}

}  // namespace edge_infer::cpu_codegen
