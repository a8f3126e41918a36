#include "compiler/codegen/literal.h"

#include <cmath>
#include <limits>

namespace edge_infer::codegen {

using loop::ReduceOp;

namespace {

std::string bound_literal(bool least, DType dtype, const LiteralStyle& style) {
  const Lane lane = lane_of(dtype);
  if (is_float(lane)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return number_literal(least ? -kInfinity : kInfinity, lane, style);
  }
  switch (dtype) {
    case DType::kI64:
      return integer_literal(least ? INT64_MIN : INT64_MAX, lane, style);
    case DType::kI32:
      return integer_literal(least ? INT32_MIN : INT32_MAX, lane, style);
    case DType::kI16:
      return integer_literal(least ? INT16_MIN : INT16_MAX, lane, style);
    case DType::kI8:
      return integer_literal(least ? INT8_MIN : INT8_MAX, lane, style);
    case DType::kU8:
      return integer_literal(least ? 0 : UINT8_MAX, lane, style);
    default:
      return integer_literal(least ? 0 : 1, lane, style);
  }
}

}  // namespace

std::string number_literal(double value, Lane lane, const LiteralStyle& style) {
  const bool narrow = lane == Lane::kF32;
  // The conversion that the compiler would do, made visible.
  if (narrow) value = static_cast<double>(static_cast<float>(value));
  if (std::isnan(value)) return std::string(narrow ? style.nan_f32 : style.nan_f64);
  const char* sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value)) return fmt::format("{}{}", sign, narrow ? style.infinity_f32 : style.infinity_f64);
  const double magnitude = std::fabs(value);
  // Short decimals that are exact read better than hexadecimal.
  if (magnitude == std::floor(magnitude) && magnitude < 1e6)
    return fmt::format("{}{:.1f}{}", sign, magnitude, narrow ? "f" : "");
  return fmt::format("{}{:a}{}", sign, magnitude, narrow ? "f" : "");
}

std::string integer_literal(int64_t value, Lane lane, const LiteralStyle& style) {
  if (lane == Lane::kBool) return std::string(value != 0 ? style.yes : style.no);
  if (lane == Lane::kI32)
    return value == INT32_MIN ? "(-2147483647 - 1)" : fmt::format("{}", static_cast<int32_t>(value));
  if (value == INT64_MIN) return fmt::format("(-9223372036854775807{} - 1)", style.suffix_i64);
  return fmt::format("{}{}", value, style.suffix_i64);
}

std::string identity_literal(ReduceOp op, DType dtype, const LiteralStyle& style) {
  const Lane lane = lane_of(dtype);
  const auto whole = [&](int value) {
    return is_float(lane) ? number_literal(value, lane, style) : integer_literal(value, lane, style);
  };
  switch (op) {
    case ReduceOp::kProd:
      return whole(1);
    case ReduceOp::kMax:
      return bound_literal(true, dtype, style);
    case ReduceOp::kMin:
      return bound_literal(false, dtype, style);
    case ReduceOp::kAll:
      return std::string(style.yes);
    default:
      return whole(0);
  }
}

}  // namespace edge_infer::codegen
