// Broken nests, each with the message of the rule that it breaks.
#include "compiler/loop/verify.h"

#include <gtest/gtest.h>

#include "compiler/loop/parse.h"
#include "tests/unit/loop/nests.h"

namespace edge_infer::loop {
namespace {

// The verifier's message for `body` in a work loop over m:T; "" where it passes.
std::string message(const std::string& body, const std::string& loop = "for m:T work") {
  const auto nest = parse_nest(
      "nest class c symbols(T in 2..64 hint 8) (b0: in f32[T, 8], b1: packed f32[8, 4], b2: out f32[T, 8], "
      "b3: index "
      "i32[T], b4: index i32[T, 2]) { " +
      loop + " { " + body + " } }");
  if (!nest) return "parse: " + nest.error().message;
  const Status status = verify(*nest);
  return status ? "" : status.error().message;
}

void expect_message(const std::string& body, std::string_view part,
                    const std::string& loop = "for m:T work") {
  const std::string found = message(body, loop);
  EXPECT_TRUE(found.find(part) != std::string::npos && found.substr(0, 6) != "parse:") << body << "\n"
                                                                                       << found;
}

TEST(LoopVerify, scopes) {
  expect_message("b2[8*m+n] = 1", "n is no symbol and no axis in scope");
  expect_message("for n:8 lane { %v0 = b0[n] } b2[8*m] = %v0", "%v0 is not defined here");
  expect_message("for n:2 lane { local c0: f32[4] } c0[0] = 1", "it is not declared here");
  expect_message("b2[8*m] = b0[v0] %v0 = b3[m]", "v0 is not defined here");
  expect_message("%v0 = b0[m] b2[8*m] = b0[v0]", "v0 is f32, expected an integer");
  expect_message("for m:8 lane { b2[m] = 1 }", "axis m is in scope already");
  expect_message("for T:8 lane { b2[8*m] = 1 }", "axis \"T\"");
  expect_message("for v1:8 lane { b2[8*m] = 1 }", "axis \"v1\"");
  expect_message("gemm %v0 over n:8, k:4 a(b0[8*m+k]) w(b1) { b2[8*m+n] = %v0 } b2[8*m] = %v0",
                 "%v0 is not defined");
  expect_message("local c0: f32[m] c0[0] = 1", "size of c0 is m: m is no symbol of the nest");
}

TEST(LoopVerify, loops) {
  expect_message("b2[8*m] = 1", "axis m is lane, expected work", "for m:T lane");
  expect_message("for n:8 work { b2[8*m+n] = 1 }", "axis n is work, expected lane or serial");
  expect_message("b2[8*m] = 1", "work axis m begins at 1", "for m:1..T work");
}

TEST(LoopVerify, buffers) {
  expect_message("b2[8*m] = b2[8*m+1]", "a load of b2, which is out");
  expect_message("b2[8*m] = b1[m]", "a load of b1, which is packed");
  expect_message("b0[8*m] = 1", "the buffer is in, expected out");
}

TEST(LoopVerify, bounds) {
  expect_message("b2[8*m+8] = 1", "index 8*m+8 reaches 16, expected less than 8*T = 16 at T = 2");
  expect_message("for n:9 lane { b2[8*m] = b0[8*m+n] }", "index 8*m+n reaches 16");
  expect_message("b2[8*m] = b0[8*m-1]", "reaches -1, expected at least 0");
  expect_message("local c0: f32[4] for n:5 lane { c0[n] = 1 }", "index n reaches 4, expected less than 4");
  EXPECT_EQ(message("b2[8*m] = load(b0[8*m-1], size(m):i64 > 0:i64, 0)"), "");
  EXPECT_EQ(message("for n:0 lane { b2[8*m+n] = b0[8*m+100] }"), "") << "a loop that does not run";
  EXPECT_EQ(message("%v0 = b3[m] b2[8*m] = b0[8*v0]"), "") << "not decidable";
  EXPECT_EQ(message("b2[8*m] = b0[(8*m+9)%(8*T)]"), "") << "not affine";
}

TEST(LoopVerify, independent_stores_do_not_meet) {
  expect_message("b2[3] = 1", "stores of one work axis meet: index 3 is the same in each iteration of m");
  expect_message("for n:8 lane { b2[4*m+n] = 1 }", "1 steps of m are 4 steps of n");
  expect_message("for n:8 lane { b2[8*m] = 1 }", "stores of one lane axis meet");
  expect_message("local c0: f32[4] for n:4 lane { c0[0] = 1 }", "stores of one lane axis meet");
  EXPECT_EQ(message("for n:8 lane { b2[m+n*T] = 1 }"), "") << "transposed";
  EXPECT_EQ(message("local c0: f32[4] for i:4 serial { c0[0] = 1 }"), "");
  EXPECT_EQ(message("%v0 = b3[m] b2[8*v0] = 1"), "") << "an indirect store";
  EXPECT_EQ(message("b2[3] = 1 if size(m):i64 == 3:i64"), "") << "predicated";
}

TEST(LoopVerify, gemm) {
  const std::string good = "gemm %v0 over n:8, k:4 a(b0[8*m+k]) w(b1) { b2[8*m+n] = %v0 }";
  EXPECT_EQ(message(good), "");
  expect_message("gemm %v0 over n:4, k:4 a(b0[k]) w(b1) { b2[8*m+n] = %v0 }",
                 "it runs over 4, 4, the weight b1 is");
  expect_message("gemm %v0 over n:8, k:4 a(b0[8*m+k]) w(b0) { b2[8*m+n] = %v0 }", "expected a packed buffer");
  expect_message("gemm %v0 over n:8, k:4 a(b0[n+k]) w(b1) { b2[8*m+n] = %v0 }", "a depends on n");
  expect_message("gemm %v0 over n:8, k:4 a(size(k):i64) w(b1) { b2[8*m+n] = %v0 }", "a is i64, expected f32");
  expect_message("gemm %v0 over n:8, k:4 a(b0[8*m+k]) w(b1) { b2[8*m+k] = %v0 }", "k is no symbol");
  expect_message("for i:2 serial { " + good + " }", "it does not stand in the work loop itself");
  expect_message(
      "gemm %v0 over n:8, k:4 a(b0[8*m+k]) w(b1) { %v1 = reduce sum(b0[i]) over i:4 b2[8*m+n] = %v1 }",
      "it stands in the body of a gemm");
}

TEST(LoopVerify, attention) {
  const auto text = [](const char* numbers, const char* q, const char* rest = "cu(b3) units(b4)") {
    return std::string("attention ") + numbers + " q(b0 " + q +
           ") k(b0 row 8 offset 2) v(b0 row 8 offset 4) out(b2 row 8 offset 0) " + rest;
  };
  const char* numbers = "heads 2 kv_heads 1 dim 2 block_rows 2 scale 1";
  EXPECT_EQ(message(text(numbers, "row 8 offset 0"), "for m:2*T work"), "");
  expect_message(text(numbers, "row 8 offset 0"),
                 "the work axis has T iterations, expected units x heads = 2*T");
  expect_message(text(numbers, "row 8 offset 5"), "q has 2 heads of 2 at 5 in rows of 8", "for m:2*T work");
  expect_message(text("heads 3 kv_heads 2 dim 2 block_rows 2 scale 1", "row 8 offset 0"),
                 "3 heads on 2 heads", "for m:3*T work");
  expect_message(text("heads 2 kv_heads 1 dim 0 block_rows 2 scale 1", "row 8 offset 0"),
                 "expected a number in 1..", "for m:2*T work");
  expect_message(text(numbers, "row 8 offset 0", "cu(b0) units(b4)"), "expected index buffers",
                 "for m:2*T work");
}

// What text cannot say.
TEST(LoopVerify, broken_structures) {
  const LoopNest good = *parse_nest(kLayerNorm);
  ASSERT_TRUE(verify(good));
  const auto broken = [&](auto&& change) {
    LoopNest nest = good;
    change(nest);
    const Status status = verify(nest);
    return status ? std::string() : status.error().message;
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(broken([](LoopNest& n) { n.accumulation_class = ""; }), "accumulation class"));
  EXPECT_TRUE(has(broken([](LoopNest& n) { n.body.clear(); }), "expected one loop over the work axis"));
  EXPECT_TRUE(has(broken([](LoopNest& n) { n.body.push_back(n.body[0]); }), "the body has 2 statements"));
  EXPECT_TRUE(
      has(broken([](LoopNest& n) { std::get<For>(n.body[0].node).axis = 99; }), "there is no axis 99"));
  EXPECT_TRUE(has(broken([](LoopNest& n) { n.exprs[0].id = 7; }), "there is no buffer 7"));
  EXPECT_TRUE(
      has(broken([](LoopNest& n) { n.exprs[0].dtype = DType::kF64; }), "expression 0: is f64, expected f32"));
  EXPECT_TRUE(has(broken([](LoopNest& n) { n.values.emplace_back(); }), "value %v3 is never defined"));
  EXPECT_TRUE(has(broken([](LoopNest& n) { n.locals.emplace_back(); }), "local c0 is never declared"));
  EXPECT_TRUE(
      has(broken([](LoopNest& n) { n.symbols.push_back(n.symbols[0]); }), "symbol T is declared twice"));
  EXPECT_TRUE(has(broken([](LoopNest& n) { n.symbols[0].range.lo = -1; }), "expected 0 <= lo"));
  EXPECT_TRUE(
      has(broken([](LoopNest& n) { n.buffers[0].sizes[0] = SymInt::symbol("Q"); }), "Q is no symbol"));
  EXPECT_TRUE(has(broken([](LoopNest& n) {
                    for (Expr& e : n.exprs)
                      if (e.kind == Expr::Kind::kBinary) e.operands[1] = static_cast<ExprId>(n.exprs.size());
                  }),
                  "does not stand before it"));
}

}  // namespace
}  // namespace edge_infer::loop
