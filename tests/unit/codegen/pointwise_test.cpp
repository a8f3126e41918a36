// Every scalar op on every element type that it takes, on every instruction set of this machine, against
// evaluate.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/loop/op_rules.h"
#include "tests/kernels/nest_run.h"

namespace edge_infer::testing {
namespace {

using loop::ScalarOp;

constexpr int64_t kRow = 37;

std::vector<DType> all_types() {
  return {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI64,
          DType::kI32, DType::kI16, DType::kI8,  DType::kU8,   DType::kBool};
}

// One nest that stores the results of all ops of one type: b0 and b1 are operands, then an output an op.
std::string nest_of(DType dtype, std::vector<ScalarOp>& ops) {
  std::string outputs, stores;
  for (int i = 0; i <= static_cast<int>(loop::kLastScalarOp); ++i) {
    const auto op = static_cast<ScalarOp>(i);
    if (!loop::op_takes(op, dtype)) continue;
    const size_t buffer = ops.size() + 2;
    ops.push_back(op);
    outputs += fmt::format(", b{}: out {}[3, {}]", buffer, dtype_name(loop::op_result(op, dtype)), kRow);
    const std::string at = fmt::format("{}*m+n", kRow);
    const char* infix = op == ScalarOp::kAdd   ? "+"
                        : op == ScalarOp::kSub ? "-"
                        : op == ScalarOp::kMul ? "*"
                        : op == ScalarOp::kDiv ? "/"
                        : op == ScalarOp::kEq  ? "=="
                        : op == ScalarOp::kNe  ? "!="
                        : op == ScalarOp::kLt  ? "<"
                        : op == ScalarOp::kLe  ? "<="
                        : op == ScalarOp::kGt  ? ">"
                        : op == ScalarOp::kGe  ? ">="
                                               : nullptr;
    std::string e;
    if (op == ScalarOp::kNeg)
      e = fmt::format("-b0[{}]", at);
    else if (loop::is_unary(op))
      e = fmt::format("{}(b0[{}])", loop::scalar_op_name(op), at);
    else if (infix != nullptr)
      e = fmt::format("b0[{0}] {1} b1[{0}]", at, infix);
    else
      e = fmt::format("{0}(b0[{1}], b1[{1}])", loop::scalar_op_name(op), at);
    stores += fmt::format("        b{}[{}] = {}\n", buffer, at, e);
  }
  return fmt::format(
      "nest @ops class f32.k1\n    (b0: in {0}[3, {1}], b1: in {0}[3, {1}]{2}) {{\n    for m:3 work {{\n     "
      " for n:{1} lane "
      "{{\n{3}      }}\n    }}\n}}\n",
      dtype_name(dtype), kRow, outputs, stores);
}

class Ops : public ::testing::TestWithParam<DType> {};

TEST_P(Ops, AgreeWithEvaluate) {
  std::vector<ScalarOp> ops;
  const std::string text = nest_of(GetParam(), ops);
  ASSERT_GE(ops.size(), 8U);
  const auto fill = [&](std::vector<HostTensor>& b) {
    if (is_floating(GetParam())) {
      std::vector<double> x = b[0].to_doubles(), y = b[1].to_doubles();
      const double inf = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
      const std::vector<double> special{0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, inf, -inf, nan, 3, 100, -50};
      for (size_t i = 0; i < special.size(); ++i) {
        x[i] = special[i];
        y[kRow + i] = special[i];
        x[2 * kRow + i] = special[i];
        y[2 * kRow + i] = special[special.size() - 1 - i];
      }
      b[0].store(x);
      b[1].store(y);
    } else if (GetParam() != DType::kBool) {  // evaluate() refuses to divide by 0
      std::vector<int64_t> y = b[1].to_integers();
      for (int64_t& v : y) v = v == 0 ? 3 : v;
      y[0] = y[1] = 1;
      b[1].store(y);
      std::vector<int64_t> x = b[0].to_integers();
      x[0] = std::numeric_limits<int64_t>::min();
      x[1] = std::numeric_limits<int64_t>::max();
      b[0].store(x);
    }
  };
  EXPECT_EQ(compare_with_evaluate({.text = text, .fill = fill, .relative = 1e-6, .absolute = 1e-7}), "");
}

INSTANTIATE_TEST_SUITE_P(Types, Ops, ::testing::ValuesIn(all_types()),
                         [](const auto& type) { return std::string(dtype_name(type.param)); });

class Casts : public ::testing::TestWithParam<DType> {};

TEST_P(Casts, AgreeWithEvaluate) {
  const std::string_view from = dtype_name(GetParam());
  std::string outputs, stores, scalars;
  int buffer = 1;
  for (const DType to : all_types()) {
    outputs += fmt::format(", b{}: out {}[2, {}], b{}: out {}[2]", buffer, dtype_name(to), kRow, buffer + 1,
                           dtype_name(to));
    const std::string load = fmt::format("b0[{}*m+n]", kRow), first = fmt::format("b0[{}*m]", kRow);
    const auto cast = [&](const std::string& x) {
      return to == GetParam() ? x : fmt::format("{}({})", dtype_name(to), x);
    };
    stores += fmt::format("        b{}[{}*m+n] = {}\n", buffer, kRow, cast(load));
    scalars += fmt::format("      b{}[m] = {}\n", buffer + 1, cast(first));
    buffer += 2;
  }
  const std::string text = fmt::format(
      "nest @casts class f32.k1\n    (b0: in {0}[2, {1}]{2}) {{\n    for m:2 work {{\n{4}      for n:{1} "
      "lane {{\n{3}     "
      " }}\n    }}\n}}\n",
      from, kRow, outputs, stores, scalars);
  const auto fill = [&](std::vector<HostTensor>& b) {
    if (!is_floating(GetParam())) return;
    std::vector<double> x = b[0].to_doubles();
    const double inf = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> special{0,       -0.0,
                                      0.5,     -0.5,
                                      1.5,     127.9,
                                      128,     -128.9,
                                      255.5,   256,
                                      -1,      32768,
                                      -32769,  2147483647.0,
                                      -3e9,    9.3e18,
                                      inf,     -inf,
                                      nan,     65519.99,
                                      65520,   1e-7,
                                      6e-8,    1e-40,
                                      3.39e38, 1.00390625 + 0x1p-30};
    for (size_t i = 0; i < special.size(); ++i) x[i] = special[i];
    x[kRow] = -200.7;
    b[0].store(x);
  };
  EXPECT_EQ(compare_with_evaluate({.text = text, .fill = fill, .relative = 0, .absolute = 0}), "");
}

INSTANTIATE_TEST_SUITE_P(Types, Casts, ::testing::ValuesIn(all_types()),
                         [](const auto& type) { return std::string(dtype_name(type.param)); });

TEST(Pointwise, FlatNestsRunSixteenRowsAtOnce) {
  for (const int64_t size : {1, 2, 15, 16, 17, 31, 33, 100})
    EXPECT_EQ(compare_with_evaluate({.text = R"(nest @flat class f32.k1 symbols(T in 1..1000 hint 8)
    (b0: in f32[T], b1: in i32[T], b2: in f32[7], b3: out f32[T], b4: out i64[T]) {
    for m:T work {
      %v0 = b1[m]
      %v1 = mod(%v0, 7:i32)
      b3[m] = b0[m] * b2[v1] + b2[m%7]
      b4[m] = size(3*m+T):i64
    } })",
                                     .symbols = {size}}),
              "");
}

TEST(Pointwise, ScalarsOfARow) {
  EXPECT_EQ(compare_with_evaluate({.text = R"(nest @scalars class f32.k1 symbols(T in 1..1000 hint 8)
    (b0: in f32[T, 5], b1: in i64[T], b2: out f32[T, 5], b3: out i64[T]) {
    for m:T work {
      %v0 = exp(b0[5*m]) + max(b0[5*m+1], 0)
      %v1 = select(isnan(%v0), 1, %v0)
      %v2 = floordiv(b1[m], 3:i64) * b1[m] - mod(b1[m], -7:i64)
      b3[m] = %v2
      for n:5 lane { b2[5*m+n] = b0[5*m+n] * %v1 + f32(%v2) }
    } })",
                                   .symbols = {19}}),
            "");
}

}  // namespace
}  // namespace edge_infer::testing
