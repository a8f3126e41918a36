// Text of nests: round trips, refusals, hostile input; the expression builder.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/loop/parse.h"
#include "compiler/loop/print.h"
#include "compiler/loop/verify.h"
#include "tests/unit/loop/nests.h"

namespace edge_infer::loop {
namespace {

TEST(LoopText, canonical_texts_print_as_they_were_read_and_verify) {
  for (const std::string& text : all_nests()) {
    const auto nest = parse_nest(text);
    ASSERT_TRUE(nest) << nest.error().message << "\n" << text;
    EXPECT_EQ(print(*nest), text);
    const Status status = verify(*nest);
    EXPECT_TRUE(status) << status.error().message;
  }
}

TEST(LoopText, the_identity_leaves_the_name_out) {
  const auto nest = parse_nest(kLayerNorm);
  ASSERT_TRUE(nest);
  LoopNest other = *nest;
  other.name = "something else";
  EXPECT_NE(print(*nest), print(other));
  EXPECT_EQ(print_identity(*nest), print_identity(other));
  EXPECT_EQ(print_identity(*nest).substr(0, 11), "nest class ");
  EXPECT_TRUE(parse_nest(print(other))) << "spaces in a name are replaced";
}

// `%v0 = <text>` printed again.
std::string reprinted(const std::string& text) {
  const auto nest = parse_nest(
      "nest class c (b0: in f32[T], b1: in i32[T], b2: out f32[T]) { for m:4 work { %v0 = " + text + " } }");
  if (!nest) return nest.error().message;
  const Stmt& let = std::get<For>(nest->body[0].node).body[0];
  return print(*nest, std::get<Let>(let.node).expr);
}

TEST(LoopText, parentheses_are_minimal_and_keep_the_tree) {
  for (const char* text : {"b0[m] + b0[1] + b0[2]",
                           "b0[m] + (b0[1] + b0[2])",
                           "b0[m] - (b0[1] - b0[2])",
                           "(b0[m] - b0[1]) * b0[2]",
                           "b0[m] / (b0[1] * b0[2])",
                           "-b0[m] * b0[1]",
                           "-(b0[m] * b0[1])",
                           "--b0[m]",
                           "b0[m] - -b0[1]",
                           "b0[m] - -1",
                           "neg(1)",
                           "b0[m] + 1 == b0[1]",
                           "(b0[m] < b0[1]) == (b0[m] < b0[2])",
                           "max(b0[m], -1)",
                           "0x1.5555555555555p-9",
                           "inf",
                           "-inf",
                           "nan",
                           "-0",
                           "1e-12",
                           "3.4028234663852886e+38",
                           "0.1:f64",
                           "-7:i8",
                           "-9223372036854775808:i64",
                           "true",
                           "size(2*m+1):f32",
                           "f32(b1[m])",
                           "select(b0[m] > 0, b0[m], exp(b0[m]))",
                           "load(b0[m+1], isnan(b0[m]), 0)"})
    EXPECT_EQ(reprinted(text), text);
  EXPECT_EQ(reprinted("((b0[m])) * (2.50)"), "b0[m] * 2.5");
  EXPECT_EQ(reprinted("b0[ m * 2 + 1 - 1 ] // a comment\n"), "b0[2*m]");
}

TEST(LoopText, numbers_come_back_bit_by_bit) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (std::isnan(value)) continue;
    const std::string text = print_number(value);
    const auto nest =
        parse_nest("nest class c (b0: out f64[4]) { for m:4 work { b0[m] = " + text + ":f64 } }");
    ASSERT_TRUE(nest) << text;
    EXPECT_EQ(std::bit_cast<uint64_t>(nest->exprs[0].number), std::bit_cast<uint64_t>(value)) << text;
  }
}

TEST(LoopText, errors_say_where_and_what_was_expected) {
  EXPECT_EQ(reprinted("b0[m] + b1[m]"), "line 1 column 90: add of f32 and i32, expected equal types");
  EXPECT_EQ(reprinted("exp(b1[m])"), "line 1 column 84: exp does not take i32");
  EXPECT_EQ(reprinted("%v3"), "line 1 column 84: found \"%\", expected a value defined before");
  EXPECT_EQ(reprinted("b7[m]"), "line 1 column 84: found \"b7\", expected a buffer of the nest");
  EXPECT_EQ(reprinted("300:i8"), "line 1 column 84: found \"300\", expected a value of i8");
  EXPECT_EQ(reprinted("1.5:i8"), "line 1 column 84: found \"1.5\", expected an integer");
  EXPECT_NE(reprinted("frobnicate(b0[m])").find("expected an expression"), std::string::npos);
  EXPECT_NE(reprinted(std::string(100000, '(')).find("levels"), std::string::npos);
  EXPECT_NE(reprinted(std::string(100000, '-') + "b0[m]").find("levels"), std::string::npos);
  std::string chain = "1";
  for (int i = 0; i < 1000; ++i) chain += " + 1";
  EXPECT_NE(reprinted(chain).find("levels"), std::string::npos);
}

TEST(LoopText, truncations_and_mutations_are_answered) {
  std::mt19937 random(11);
  int parsed = 0;
  for (const std::string& text : all_nests()) {
    for (size_t length = 0; length + 2 < text.size(); ++length)
      EXPECT_FALSE(parse_nest(std::string_view(text).substr(0, length))) << length;
    for (int i = 0; i < 300; ++i) {
      std::string mutated = text;
      const auto edits = 1 + random() % 3;
      for (unsigned edit = 0; edit < edits; ++edit) {
        const size_t at = random() % mutated.size(), from = random() % text.size();
        if (random() % 2 == 0) {
          mutated[at] = text[from];
        } else {
          mutated.erase(at, 1 + random() % 4);
        }
      }
      const auto nest = parse_nest(mutated);
      if (!nest) continue;
      ++parsed;
      const std::string printed = print(*nest);
      const auto again = parse_nest(printed);
      ASSERT_TRUE(again) << again.error().message << "\n" << printed << "\n" << mutated;
      EXPECT_EQ(print(*again), printed);
      EXPECT_EQ(verify(*nest).has_value(), verify(*again).has_value()) << printed;
    }
  }
  EXPECT_GT(parsed, 100);
}

TEST(ExprBuilder, equal_nodes_are_one_and_exact_constants_fold) {
  LoopNest nest;
  nest.buffers = {{Access::kIn, DType::kF32, {4}}};
  ExprBuilder b(nest), other(nest);
  const SymInt m = SymInt::symbol("m");
  const ExprId x = b.load(0, m);
  EXPECT_EQ(x, other.load(0, m));
  EXPECT_EQ(b.binary(ScalarOp::kAdd, x, b.number(2)),
            other.binary(ScalarOp::kAdd, other.load(0, m), other.number(2)));
  EXPECT_NE(b.number(0.0), b.number(-0.0));
  const auto text = [&](ExprId id) { return print(nest, id); };
  EXPECT_EQ(text(b.binary(ScalarOp::kAdd, b.number(1), b.number(2))), "3");
  EXPECT_EQ(text(b.binary(ScalarOp::kDiv, b.number(1), b.number(8))), "0.125");
  EXPECT_EQ(text(b.binary(ScalarOp::kDiv, b.number(1), b.number(3))), "1 / 3") << "rounds";
  EXPECT_EQ(text(b.binary(ScalarOp::kAdd, b.number(1), b.number(0x1p-30))), "1 + 0x1p-30") << "rounds in f32";
  EXPECT_EQ(text(b.unary(ScalarOp::kSqrt, b.number(2))), "sqrt(2)");
  EXPECT_EQ(text(b.unary(ScalarOp::kSqrt, b.number(9))), "3");
  EXPECT_EQ(text(b.binary(ScalarOp::kAdd, b.integer(127, DType::kI8), b.integer(1, DType::kI8))), "-128:i8");
  EXPECT_EQ(text(b.binary(ScalarOp::kDiv, b.integer(1, DType::kI8), b.integer(0, DType::kI8))),
            "1:i8 / 0:i8");
  EXPECT_EQ(b.binary(ScalarOp::kMul, x, b.number(1)), x);
  EXPECT_EQ(b.binary(ScalarOp::kSub, x, b.number(0)), x);
  EXPECT_EQ(text(b.binary(ScalarOp::kAdd, x, b.number(0))), "b0[m] + 0") << "-0 + 0 is 0";
  EXPECT_EQ(text(b.cast(b.number(300.7), DType::kU8)), "255:u8");
  EXPECT_EQ(text(b.cast(b.number(1e300), DType::kF16)), "f16(1e+300)");
  EXPECT_EQ(b.cast(b.cast(x, DType::kF64), DType::kF32), x);
  EXPECT_NE(b.cast(b.cast(x, DType::kF16), DType::kF32), x);
  EXPECT_EQ(text(b.size(7, DType::kF32)), "7");
  EXPECT_EQ(text(b.binary(ScalarOp::kLt, b.number(1), b.number(2))), "true");
  EXPECT_EQ(b.select(b.integer(0, DType::kBool), x, b.number(2)), b.number(2));
}

TEST(LoopNest, columns_split_where_rows_need_not_stay_whole) {
  const auto split = [](const char* body) {
    const auto nest =
        parse_nest(std::string("nest class c (b0: in f32[4, 8], b1: packed f32[8, 8], b2: out f32[4, 8]) { "
                               "for m:4 work { ") +
                   body + " } }");
    EXPECT_TRUE(nest) << nest.error().message;
    const AxisId axis = nest->split_columns();
    return axis < 0 ? std::string() : nest->axis(axis).name;
  };
  EXPECT_EQ(split("for n:8 lane { %v0 = b0[8*m+n] b2[8*m+n] = %v0 }"), "n");
  EXPECT_EQ(split("gemm %v0 over n:8, k:8 a(b0[8*m+k]) w(b1) { b2[8*m+n] = %v0 }"), "n");
  EXPECT_EQ(split("%v0 = b0[m] for n:8 lane { b2[8*m+n] = %v0 }"), "");
  EXPECT_EQ(split("for n:8 serial { b2[8*m+n] = 1 }"), "");
  EXPECT_EQ(split("for n:8 lane { %v0 = reduce sum(b0[k]) over k:8 b2[8*m+n] = %v0 }"), "");
}

}  // namespace
}  // namespace edge_infer::loop
