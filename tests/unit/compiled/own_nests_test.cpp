// Ops that have prebuilt kernels, compiled as a back end without any compiles them: products, attention over
// dense heads, rotations, scans, positions of packed rows.
#include <gtest/gtest.h>

#include <random>

#include "compiler/graph/parse.h"
#include "compiler/loop/print.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiled/target.h"

namespace edge_infer::test {
namespace {

struct Row {
  const char* name;
  const char* text;
};

constexpr Row kRows[] = {
    {"products",
     R"(graph @g(%x: f32[B, T, 37], %y: f32[37, 21], %z: f32[2, 1, 37, 3], %v: f32[37], %i: i32[T, 4], %j: i32[4, 2], %d: f64[3, 5]) symbols(T in 1..512 hint 64, B in 1..8 hint 2) {
  %a = aten.matmul(%x, %y) : f32[B, T, 21]
  %b = aten.matmul(%x, %z) : f32[2, B, T, 3]
  %c = aten.matmul(%x, %v) : f32[B, T]
  %e = aten.matmul(%v, %y) : f32[21]
  %f = aten.matmul(%v, %v) : f32[]
  %g = aten.matmul(%i, %j) : i32[T, 2]
  %h = aten.linear(%d, %d, none) : f64[3, 3]
  return %a, %b, %c, %e, %f, %g, %h
})"},
    {"a product of what is computed, in a norm",
     R"(graph @g(%x: f32[T, 24], %y: f32[24, 24]) symbols(T in 1..512 hint 64) {
  %a = aten.gelu(%x) : f32[T, 24]
  %m = aten.matmul(%a, %y) : f32[T, 24]
  %r = aten.add(%m, %a) : f32[T, 24]
  %n = aten.layer_norm(%r, none, none, normalized_shape=[24]) : f32[T, 24]
  return %n
})"},
    {"masked attention, grouped heads",
     R"(graph @g(%q: f32[B, 4, T, 16], %k: f32[B, 2, T, 16], %v: f32[B, 2, T, 5], %m: bool[B, 1, 1, T]) symbols(T in 1..512 hint 64, B in 1..8 hint 2) {
  %a = aten.scaled_dot_product_attention(%q, %k, %v, %m, enable_gqa=true) : f32[B, 4, T, 5]
  return %a
})"},
    {"causal attention with a bias",
     R"(graph @g(%q: f32[B, T, 6], %k: f32[B, T, 6], %v: f32[B, T, 6], %m: f32[T, T]) symbols(T in 1..512 hint 64, B in 1..8 hint 2) {
  %a = aten.scaled_dot_product_attention(%q, %k, %v, %m, is_causal=true, scale=0.25) : f32[B, T, 6]
  return %a
})"},
    {"rotations",
     R"(graph @g(%x: f32[T, 72], %p: i32[T]) symbols(T in 1..512 hint 64) {
  %a = edge.rope(%x, %p, head_dim=24) : f32[T, 72]
  %b = edge.rope(%x, %p, head_dim=36, base=500.0, interleaved=true) : f32[T, 72]
  return %a, %b
})"},
    {"positions",
     R"(graph @g(%ids: i32[T], %cu: i32[B+1]) symbols(T in 1..512 hint 64, B in 1..8 hint 2) {
  %p = edge.packed_positions(%ids, %cu) : i32[T]
  return %p
})"},
    {"scans",
     R"(graph @g(%x: f32[T, 3, 21], %i: bool[T, 5]) symbols(T in 1..512 hint 64) {
  %r = aten.relu(%x) : f32[T, 3, 21]
  %a = aten.cumsum(%r, dim=2) : f32[T, 3, 21]
  %b = aten.cumsum(%r, dim=1) : f32[T, 3, 21]
  %s = aten.add(%a, %b) : f32[T, 3, 21]
  %c = aten.cumsum(%i, dim=0) : i64[T, 5]
  return %s, %c
})"},
};

HostTensor random_input(const Value& value, const SymbolValues& symbols, std::mt19937& random) {
  std::vector<int64_t> sizes;
  for (const SymInt& s : value.type.sizes) sizes.push_back(*s.evaluate(symbols));
  HostTensor t = *make_host_tensor(value.type.dtype, sizes);
  const auto n = static_cast<size_t>(t.elements());
  if (is_floating(t.dtype)) {
    std::vector<double> values(n);
    for (double& v : values) v = std::uniform_real_distribution<double>(-1, 1)(random);
    t.store(values);
    return t;
  }
  std::vector<int64_t> values(n);
  for (int64_t& v : values) v = static_cast<int64_t>(random() % (t.dtype == DType::kBool ? 2 : 40));
  if (value.name == "cu")
    for (size_t i = 0; i < n; ++i)
      values[i] = symbols.find("T")->second * static_cast<int64_t>(i) / static_cast<int64_t>(n - 1);
  t.store(values);
  return t;
}

TEST(OwnNests, ops_without_prebuilt_kernels_are_right_on_every_target) {
  for (const TargetName& name : cpu_targets()) {
    TargetUnderTest target(name.name);
    target.forget_prebuilt_ops();
    std::vector<CompiledGraph> compiled;
    for (const Row& row : kRows) {
      const auto graph = parse_graph(row.text);
      ASSERT_TRUE(graph) << row.name << ": " << graph.error().message;
      auto one = target.compile(*graph);
      ASSERT_TRUE(one) << row.name << ": " << one.error().message;
      for (const loop::Step& step : one->forms[0].steps)
        EXPECT_GE(step.nest, 0) << row.name << "\n" << loop::print_loops(one->forms[0], one->graph);
      compiled.push_back(*std::move(one));
    }
    const Status obtained = target.obtain(compiled);
    ASSERT_TRUE(obtained) << name.name << ": " << obtained.error().message;
    if (!target.runs()) continue;
    std::mt19937 random(5);
    for (size_t g = 0; g < compiled.size(); ++g) {
      const Graph& graph = compiled[g].graph;
      for (const int64_t t : {1, 7, 64, 130}) {
        const SymbolValues symbols = {{"T", t}, {"B", t == 1 ? 1 : 3}};
        std::vector<HostTensor> inputs;
        for (const GraphInput& i : graph.inputs())
          inputs.push_back(random_input(graph.value(i.value), symbols, random));
        const auto want = evaluate(graph, inputs, {});
        ASSERT_TRUE(want) << want.error().message;
        const std::vector<double> exact(want->size(), 0);
        for (const int workers : {1, 3}) {
          const auto got = target.run(compiled[g], 0, inputs, {}, workers);
          ASSERT_TRUE(got) << kRows[g].name << ": " << got.error().message;
          EXPECT_EQ(difference_of(*got, *want, exact, {2e-5, 2e-5}), "")
              << kRows[g].name << " on " << name.name << " with T = " << t << "\n"
              << loop::print_loops(compiled[g].forms[0], graph);
        }
      }
    }
  }
}

}  // namespace
}  // namespace edge_infer::test
