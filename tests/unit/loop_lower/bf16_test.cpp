// Graphs after assign_precision: which values are stored in bf16, what is packed, what is never rounded.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/loop/evaluate.h"
#include "compiler/loop/lower.h"
#include "compiler/loop/print.h"
#include "compiler/loop/verify.h"
#include "compiler/passes/passes.h"
#include "tests/unit/loop_lower/check.h"

namespace edge_infer::loop::test {
namespace {

constexpr std::string_view kBlock = R"(
const $a: f32[64, 48]
const $b: f32[32, 48]
const $bias: f32[96]
const $w: f32[48, 64]
const $g: f32[48]
const $v: f32[48, 48]
graph @block(%x: f32[T, 48]) symbols(T in 1..512 hint 128) {
  %c = aten.cat($a, $b) : f32[96, 48]
  %p = aten.linear(%x, %c, $bias) : f32[T, 96]
  %h = aten.slice(%p, dim=1, end=64) : f32[T, 64]
  %u = aten.gelu(%h) : f32[T, 64]
  %y = aten.linear(%u, $w, none) : f32[T, 48]
  %r = aten.add(%y, %x) : f32[T, 48]
  %n = aten.layer_norm(%r, $g, none, normalized_shape=[48], eps=1e-5) : f32[T, 48]
  %z = aten.linear(%n, $v, none) : f32[T, 48]
  %o = aten.add(%z, %n) : f32[T, 48]
  return %o
}
)";

Graph in_bf16(std::string_view text) {
  Graph graph = graph_of(text);
  PipelineOptions options;
  options.passes = compile_pipeline(DType::kBF16);
  EXPECT_TRUE(run_passes(graph, options));
  return graph;
}

HostTensor random_tensor(std::vector<int64_t> sizes, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  HostTensor tensor = *make_host_tensor(DType::kF32, std::move(sizes));
  std::vector<double> numbers(static_cast<size_t>(tensor.elements()));
  for (double& x : numbers) x = normal(random);
  tensor.store(numbers);
  return tensor;
}

size_t count(std::string_view text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Bf16Lowering, operands_are_rounded_where_they_are_made_and_sums_never) {
  const Graph graph = in_bf16(kBlock);
  LowerOptions options;
  options.half_class = "bf16.f32";
  const auto program = lower(graph, options);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->accumulation_class, "bf16.f32");
  EXPECT_EQ(nest_steps(*program), 3);
  EXPECT_EQ(program->steps.size(), 3U);
  for (const LoopNest& nest : program->nests) {
    EXPECT_TRUE(verify(nest)) << verify(nest).error().message;
    EXPECT_EQ(nest.accumulation_class, "bf16.f32");
  }
  const std::string text = print_loops(*program, graph);
  // x, an input, as it is read; gelu's and the norm's results as they are stored.
  EXPECT_EQ(count(text, "a(bf16(b"), 1U) << text;
  EXPECT_EQ(count(text, "out bf16["), 2U) << text;
  EXPECT_EQ(count(text, " bf16("), 2U) << text;
  EXPECT_EQ(count(text, "f32("), 0U) << text;
  EXPECT_NE(text.find("const packed bf16[96, 48] = $a, $b"), std::string::npos) << text;
}

TEST(Bf16Lowering, programs_compute_what_rounded_operands_give) {
  const Graph graph = in_bf16(kBlock), exact = graph_of(kBlock);
  TensorMap constants;
  for (const GraphConstant& c : exact.constants()) {
    std::vector<int64_t> sizes;
    for (const SymInt& s : exact.value(c.value).type.sizes) sizes.push_back(*s.constant());
    constants[exact.value(c.value).name] = random_tensor(sizes, static_cast<uint32_t>(c.value) + 1);
  }
  const std::vector<HostTensor> inputs = {random_tensor({5, 48}, 77)};
  const auto want = edge_infer::evaluate(exact, inputs, constants);
  ASSERT_TRUE(want);
  // With products in nests, and with those refused: then the sums are rounded, too.
  for (const char* name : {"bf16.f32", ""}) {
    LowerOptions options;
    options.half_class = name;
    const auto program = lower(graph, options);
    ASSERT_TRUE(program) << program.error().message;
    const auto got = evaluate(*program, graph, inputs, constants);
    ASSERT_TRUE(got) << name << got.error().message;
    const auto x = (*got)[0].to_doubles(), y = (*want)[0].to_doubles();
    double distance = 0, size = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      distance += (x[i] - y[i]) * (x[i] - y[i]);
      size += y[i] * y[i];
    }
    EXPECT_LT(std::sqrt(distance / size), 0.01) << name;
    EXPECT_GT(std::sqrt(distance / size), 1e-5) << name;
  }
}

// What other nodes read, too, must exist in bf16: the weight is no constant of the product alone, the sum is
// an output.
TEST(Bf16Lowering, other_readers_get_rounded_values) {
  const Graph graph = graph_of(R"(
const $w: f32[8, 16]
graph @shared(%x: bf16[T, 16]) symbols(T in 1..64 hint 8) {
  %h = aten._to_copy($w, dtype=bf16) : bf16[8, 16]
  %y = aten.linear(%x, %h, none) : bf16[T, 8]
  %f = aten._to_copy(%y, dtype=f32) : f32[T, 8]
  %n = aten.neg(%h) : bf16[8, 16]
  return %f, %n
}
)");
  LowerOptions options;
  options.half_class = "bf16.f32";
  const auto program = lower(graph, options);
  ASSERT_TRUE(program) << program.error().message;
  const std::string text = print_loops(*program, graph);
  EXPECT_EQ(text.find("gemm"), std::string::npos) << text;
  EXPECT_NE(text.find("f32(bf16(%v0))"), std::string::npos) << text;
  const Graph output = graph_of(R"(
const $w: bf16[8, 16]
graph @output(%x: bf16[T, 16]) symbols(T in 1..64 hint 8) {
  %y = aten.linear(%x, $w, none) : bf16[T, 8]
  %f = aten._to_copy(%y, dtype=f32) : f32[T, 8]
  %g = aten.mul.Scalar(%f, scalar=2.0) : f32[T, 8]
  return %y, %g
}
)");
  const auto rounded = lower(output, options);
  ASSERT_TRUE(rounded) << rounded.error().message;
  EXPECT_NE(print_loops(*rounded, output).find("bf16(%v"), std::string::npos)
      << print_loops(*rounded, output);
}

}  // namespace
}  // namespace edge_infer::loop::test
