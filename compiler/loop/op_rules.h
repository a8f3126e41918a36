// Which element types a scalar op takes and gives: what the builder asserts, the parser reports and the
// verifier checks.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/loop/loop_nest.h"

namespace edge_infer::loop {

constexpr bool is_unary(ScalarOp op) {
  return op <= ScalarOp::kNot;
}
constexpr bool is_compare(ScalarOp op) {
  return op >= ScalarOp::kEq;
}
constexpr bool is_binary(ScalarOp op) {
  return !is_unary(op) && !is_compare(op);
}
constexpr ScalarOp kLastScalarOp = ScalarOp::kGe;

std::optional<ScalarOp> parse_scalar_op(std::string_view name);
std::optional<ReduceOp> parse_reduce_op(std::string_view name);

// Whether operands of `dtype` have a meaning: transcendentals and rounding want floats, shifts integers,
// arithmetic anything but bool, logic and compares everything that they name. f16 and bf16 are storage: only
// what is exact (neg, abs, isnan, min, max, compares) works on them without a cast.
bool op_takes(ScalarOp op, DType dtype);
// The result's type for operands of `dtype`.
constexpr DType op_result(ScalarOp op, DType dtype) {
  return is_compare(op) || op == ScalarOp::kIsNan ? DType::kBool : dtype;
}

bool reduce_takes(ReduceOp op, DType dtype);
constexpr DType reduce_result(ReduceOp op, DType dtype) {
  return op == ReduceOp::kArgMax || op == ReduceOp::kArgMin ? DType::kI64 : dtype;
}
constexpr size_t reduce_results(ReduceOp op) {
  return op == ReduceOp::kMoments ? 2 : 1;
}

}  // namespace edge_infer::loop
