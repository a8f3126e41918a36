#include "compiler/loop/op_rules.h"

#include <array>

namespace edge_infer::loop {
namespace {

constexpr std::array<const char*, static_cast<size_t>(kLastScalarOp) + 1> kScalarNames = {
    "neg",      "abs",  "sqrt",  "rsqrt", "rcp", "exp", "exp2", "log", "log1p", "tanh", "erf", "sin", "cos",
    "floor",    "ceil", "round", "isnan", "not", "add", "sub",  "mul", "div",   "min",  "max", "pow", "atan2",
    "floordiv", "mod",  "and",   "or",    "xor", "shl", "shr",  "eq",  "ne",    "lt",   "le",  "gt",  "ge"};
constexpr std::array<const char*, static_cast<size_t>(ReduceOp::kMoments) + 1> kReduceNames = {
    "sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "moments"};

template <typename Op, size_t N>
std::optional<Op> find_name(const std::array<const char*, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i)
    if (name == names[i]) return static_cast<Op>(i);
  return std::nullopt;
}

bool is_storage_only(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

}  // namespace

const char* scalar_op_name(ScalarOp op) {
  return kScalarNames[static_cast<size_t>(op)];
}
const char* reduce_op_name(ReduceOp op) {
  return kReduceNames[static_cast<size_t>(op)];
}
std::optional<ScalarOp> parse_scalar_op(std::string_view name) {
  return find_name<ScalarOp>(kScalarNames, name);
}
std::optional<ReduceOp> parse_reduce_op(std::string_view name) {
  return find_name<ReduceOp>(kReduceNames, name);
}

bool op_takes(ScalarOp op, DType dtype) {
  const bool floating = is_floating(dtype), logical = dtype == DType::kBool;
  switch (op) {
    case ScalarOp::kNeg:
    case ScalarOp::kAbs:
      return !logical;
    case ScalarOp::kIsNan:
      return floating;
    case ScalarOp::kMin:
    case ScalarOp::kMax:
      return true;
    case ScalarOp::kNot:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kXor:
      return !floating;
    case ScalarOp::kShl:
    case ScalarOp::kShr:
      return !floating && !logical;
    case ScalarOp::kAdd:
    case ScalarOp::kSub:
    case ScalarOp::kMul:
    case ScalarOp::kDiv:
    case ScalarOp::kPow:
    case ScalarOp::kFloorDiv:
    case ScalarOp::kMod:
      return !logical && !is_storage_only(dtype);
    default:
      return is_compare(op) || (floating && !is_storage_only(dtype));
  }
}

bool reduce_takes(ReduceOp op, DType dtype) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kProd:
      return dtype != DType::kBool && !is_storage_only(dtype);
    case ReduceOp::kAny:
    case ReduceOp::kAll:
      return dtype == DType::kBool;
    case ReduceOp::kMoments:
      return is_floating(dtype) && !is_storage_only(dtype);
    default:
      return true;
  }
}

}  // namespace edge_infer::loop
