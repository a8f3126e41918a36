#include "compiler/loop/integer_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/graph/arithmetic.h"

namespace edge_infer::loop {
namespace {

int64_t width(DType dtype) {
  return dtype_size(dtype) * 8;
}

int64_t shift_left(DType dtype, int64_t a, int64_t by) {
  if (by < 0 || by >= width(dtype)) return 0;
  return static_cast<int64_t>(static_cast<uint64_t>(a) << by);
}
int64_t shift_right(DType dtype, int64_t a, int64_t by) {
  if (by < 0 || by >= width(dtype)) return a < 0 ? -1 : 0;
  return a >> by;
}

template <typename T>
int64_t saturate(double value) {
  constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::min());
  // The first double beyond the type; the maximum itself is no double for 64 bits.
  constexpr double kEnd = -kLow > 0 ? -kLow : static_cast<double>(std::numeric_limits<T>::max()) + 1;
  if (value < kLow) return static_cast<int64_t>(std::numeric_limits<T>::min());
  if (value >= kEnd) return static_cast<int64_t>(std::numeric_limits<T>::max());
  return static_cast<int64_t>(value);
}

}  // namespace

int64_t wrap_to(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::kI32:
      return static_cast<int32_t>(value);
    case DType::kI16:
      return static_cast<int16_t>(value);
    case DType::kI8:
      return static_cast<int8_t>(value);
    case DType::kU8:
      return static_cast<uint8_t>(value);
    case DType::kBool:
      return value != 0 ? 1 : 0;
    default:
      return value;
  }
}

std::optional<int64_t> integer_op(ScalarOp op, DType dtype, int64_t a, int64_t b) {
  const bool divides = op == ScalarOp::kDiv || op == ScalarOp::kFloorDiv || op == ScalarOp::kMod;
  if (divides && b == 0) return std::nullopt;
  int64_t r = 0;
  switch (op) {
    case ScalarOp::kAdd:
      r = wrapping_add(a, b);
      break;
    case ScalarOp::kSub:
      r = wrapping_sub(a, b);
      break;
    case ScalarOp::kMul:
      r = wrapping_mul(a, b);
      break;
    case ScalarOp::kDiv:
      r = b == -1 ? wrapping_sub(0, a) : a / b;
      break;
    case ScalarOp::kFloorDiv:
      r = b == -1 ? wrapping_sub(0, a) : (a - floor_remainder(a, b)) / b;
      break;
    case ScalarOp::kMod:
      r = floor_remainder(a, b);
      break;
    case ScalarOp::kMin:
      r = std::min(a, b);
      break;
    case ScalarOp::kMax:
      r = std::max(a, b);
      break;
    case ScalarOp::kPow:
      r = wrapping_pow(a, b);
      break;
    case ScalarOp::kAnd:
      r = a & b;
      break;
    case ScalarOp::kOr:
      r = a | b;
      break;
    case ScalarOp::kXor:
      r = a ^ b;
      break;
    case ScalarOp::kShl:
      r = shift_left(dtype, a, b);
      break;
    case ScalarOp::kShr:
      r = shift_right(dtype, a, b);
      break;
    default:
      break;
  }
  return wrap_to(dtype, r);
}

int64_t integer_op(ScalarOp op, DType dtype, int64_t a) {
  switch (op) {
    case ScalarOp::kNeg:
      return wrap_to(dtype, wrapping_sub(0, a));
    case ScalarOp::kAbs:
      return wrap_to(dtype, a < 0 ? wrapping_sub(0, a) : a);
    case ScalarOp::kNot:
      return dtype == DType::kBool ? (a == 0 ? 1 : 0) : wrap_to(dtype, ~a);
    default:
      return a;
  }
}

bool integer_compare(ScalarOp op, int64_t a, int64_t b) {
  switch (op) {
    case ScalarOp::kEq:
      return a == b;
    case ScalarOp::kNe:
      return a != b;
    case ScalarOp::kLt:
      return a < b;
    case ScalarOp::kLe:
      return a <= b;
    case ScalarOp::kGt:
      return a > b;
    default:
      return a >= b;
  }
}

int64_t to_integer(DType dtype, double value) {
  if (dtype == DType::kBool) return value != 0 ? 1 : 0;
  if (std::isnan(value)) return 0;
  switch (dtype) {
    case DType::kI32:
      return saturate<int32_t>(value);
    case DType::kI16:
      return saturate<int16_t>(value);
    case DType::kI8:
      return saturate<int8_t>(value);
    case DType::kU8:
      return saturate<uint8_t>(value);
    default:
      return saturate<int64_t>(value);
  }
}

}  // namespace edge_infer::loop
