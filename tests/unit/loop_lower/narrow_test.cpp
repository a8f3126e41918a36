// LowerOptions::narrow_temps: what lies in memory in f16 between nests, and what does not.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "compiler/loop/evaluate.h"
#include "compiler/loop/lower.h"
#include "compiler/loop/print.h"
#include "compiler/loop/verify.h"
#include "compiler/passes/passes.h"
#include "tests/unit/loop_lower/check.h"

namespace edge_infer::loop::test {
namespace {

// As a back end whose products read f16 rows from memory and own no whole row.
Status accepts_tiles_only(const LoopNest& nest) {
  for (const Stmt& stmt : std::get<For>(nest.body.front().node).body) {
    const auto* gemm = std::get_if<Gemm>(&stmt.node);
    if (gemm == nullptr) continue;
    if (nest.split_columns() < 0) return fail(ErrorCode::kUnsupported, "slot refused: row needs BN = N");
    if (nest.expr(gemm->a).kind != Expr::Kind::kLoad || nest.expr(gemm->a).dtype != DType::kF16)
      return fail(ErrorCode::kUnsupported, "slot refused: a is not a load");
  }
  return {};
}

LowerOptions narrow() {
  LowerOptions options;
  options.half = DType::kF16;
  options.half_class = "f16.test";
  options.narrow_temps = true;
  options.attention_block_rows = 64;
  options.accepts = accepts_tiles_only;
  return options;
}

Graph in_f16(std::string_view text) {
  Graph graph = graph_of(text);
  PipelineOptions options;
  options.passes = compile_pipeline(DType::kF16);
  options.context.precision = DType::kF16;
  EXPECT_TRUE(run_passes(graph, options));
  return graph;
}

std::string golden_graph(const char* name) {
  std::ifstream file(std::string("tests/golden/loops/") + name + ".graph");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

HostTensor random_tensor(std::vector<int64_t> sizes, uint32_t seed, double scale) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  HostTensor tensor = *make_host_tensor(DType::kF32, std::move(sizes));
  std::vector<double> numbers(static_cast<size_t>(tensor.elements()));
  for (double& x : numbers) x = normal(random) * scale;
  tensor.store(numbers);
  return tensor;
}

TEST(NarrowTemps, encoder_layer_reads_and_writes_f16_between_nests) {
  const Graph graph = in_f16(golden_graph("post_norm_encoder"));
  const auto program = lower(graph, narrow());
  ASSERT_TRUE(program) << program.error().message;
  const std::string text = print_loops(*program, graph);
  for (const LoopNest& nest : program->nests)
    EXPECT_TRUE(verify(nest)) << verify(nest).error().message << text;
  for (const ProgramBuffer& b : program->buffers)
    EXPECT_TRUE(b.role != Role::kTemp || b.dtype == DType::kF16 || b.dtype == DType::kI32) << text;
  size_t gemms = 0;
  for (const LoopNest& nest : program->nests)
    for (const Stmt& stmt : std::get<For>(nest.body.front().node).body)
      if (const auto* gemm = std::get_if<Gemm>(&stmt.node)) {
        ++gemms;
        EXPECT_EQ(nest.expr(gemm->a).kind, Expr::Kind::kLoad) << text;
        EXPECT_EQ(nest.accumulation_class, "f16.test");
      }
  EXPECT_GE(gemms, 4U) << text;
}

constexpr std::string_view kBlock = R"(
const $e: f32[50, 48]
const $w: f32[96, 48]
const $b: f32[96]
const $v: f32[48, 96]
const $g: f32[48]
graph @block(%ids: i32[T]) symbols(T in 1..512 hint 128) {
  %x = aten.embedding($e, %ids) : f32[T, 48]
  %n = aten.layer_norm(%x, $g, none, normalized_shape=[48], eps=1e-5) : f32[T, 48]
  %p = aten.linear(%n, $w, $b) : f32[T, 96]
  %u = aten.gelu(%p) : f32[T, 96]
  %y = aten.linear(%u, $v, none) : f32[T, 48]
  %r = aten.add(%y, %n) : f32[T, 48]
  return %r
}
)";

TEST(NarrowTemps, programs_differ_from_the_graph_by_roundings_alone) {
  const Graph graph = in_f16(kBlock), exact = graph_of(kBlock);
  TensorMap constants;
  for (const GraphConstant& c : exact.constants()) {
    std::vector<int64_t> sizes;
    for (const SymInt& s : exact.value(c.value).type.sizes) sizes.push_back(*s.constant());
    constants[exact.value(c.value).name] = random_tensor(sizes, static_cast<uint32_t>(c.value) + 1, 0.3);
  }
  HostTensor ids = *make_host_tensor(DType::kI32, {7});
  const std::vector<double> rows = {3, 49, 0, 7, 7, 21, 48};
  ids.store(rows);
  const std::vector<HostTensor> inputs = {ids};
  const auto want = edge_infer::evaluate(exact, inputs, constants);
  ASSERT_TRUE(want);
  const auto program = lower(graph, narrow());
  ASSERT_TRUE(program) << program.error().message;
  const auto got = evaluate(*program, graph, inputs, constants);
  ASSERT_TRUE(got) << got.error().message;
  const auto x = (*got)[0].to_doubles(), y = (*want)[0].to_doubles();
  double distance = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    distance += (x[i] - y[i]) * (x[i] - y[i]);
    size += y[i] * y[i];
  }
  EXPECT_LT(std::sqrt(distance / size), 2e-3);
  EXPECT_GT(std::sqrt(distance / size), 1e-6);
  const std::string text = print_loops(*program, graph);
  EXPECT_EQ(text.find("out f16[T, 48]\n"), std::string::npos);
  for (const ProgramBuffer& b : program->buffers)
    EXPECT_TRUE(b.role != Role::kOutput || b.dtype == DType::kF32) << text;
}

// Statistics of rows may be far outside of f16's range: they stay f32.
TEST(NarrowTemps, results_of_one_column_stay_wide) {
  const Graph graph = in_f16(R"(
const $w: f32[48, 48]
graph @stats(%x: f32[T, 48]) symbols(T in 1..64 hint 8) {
  %q = aten.mul(%x, %x) : f32[T, 48]
  %s = aten.sum(%q, dim=[1], keepdim=true) : f32[T, 1]
  %t = aten.neg(%x) : f32[T, 48]
  %y = aten.linear(%t, $w, none) : f32[T, 48]
  %r = aten.mul(%y, %s) : f32[T, 48]
  return %r
}
)");
  const auto program = lower(graph, narrow());
  ASSERT_TRUE(program) << program.error().message;
  bool has_statistics = false;
  for (const ProgramBuffer& b : program->buffers)
    if (b.role == Role::kTemp && b.sizes.back() == SymInt(1)) {
      has_statistics = true;
      EXPECT_EQ(b.dtype, DType::kF32);
    }
  EXPECT_TRUE(has_statistics) << print_loops(*program, graph);
}

}  // namespace
}  // namespace edge_infer::loop::test
