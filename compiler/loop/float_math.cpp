#include "compiler/loop/float_math.h"

#include <cmath>

namespace edge_infer::loop {
namespace {

double minimum(double a, double b) {
  return std::isnan(a) || a < b ? a : b;
}
double maximum(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}
// The divisor's sign, as torch.remainder.
double floor_mod(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

}  // namespace

double float_op(ScalarOp op, double a) {
  switch (op) {
    case ScalarOp::kNeg:
      return -a;
    case ScalarOp::kAbs:
      return std::fabs(a);
    case ScalarOp::kSqrt:
      return std::sqrt(a);
    case ScalarOp::kRsqrt:
      return 1 / std::sqrt(a);
    case ScalarOp::kRcp:
      return 1 / a;
    case ScalarOp::kExp:
      return std::exp(a);
    case ScalarOp::kExp2:
      return std::exp2(a);
    case ScalarOp::kLog:
      return std::log(a);
    case ScalarOp::kLog1p:
      return std::log1p(a);
    case ScalarOp::kTanh:
      return std::tanh(a);
    case ScalarOp::kErf:
      return std::erf(a);
    case ScalarOp::kSin:
      return std::sin(a);
    case ScalarOp::kCos:
      return std::cos(a);
    case ScalarOp::kFloor:
      return std::floor(a);
    case ScalarOp::kCeil:
      return std::ceil(a);
    case ScalarOp::kRound:
      return std::nearbyint(a);
    default:
      return a;
  }
}

double float_op(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::kAdd:
      return a + b;
    case ScalarOp::kSub:
      return a - b;
    case ScalarOp::kMul:
      return a * b;
    case ScalarOp::kDiv:
      return a / b;
    case ScalarOp::kMin:
      return minimum(a, b);
    case ScalarOp::kMax:
      return maximum(a, b);
    case ScalarOp::kPow:
      return std::pow(a, b);
    case ScalarOp::kAtan2:
      return std::atan2(a, b);
    case ScalarOp::kFloorDiv:
      return std::floor(a / b);
    case ScalarOp::kMod:
      return floor_mod(a, b);
    default:
      return a;
  }
}

bool float_compare(ScalarOp op, double a, double b) {
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

}  // namespace edge_infer::loop
