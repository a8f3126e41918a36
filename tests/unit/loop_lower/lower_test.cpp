#include "compiler/loop/lower.h"

#include <gtest/gtest.h>

#include "compiler/graph/print.h"
#include "compiler/loop/print.h"
#include "tests/unit/loop_lower/check.h"

namespace edge_infer::loop::test {
namespace {

struct Row {
  const char* name;
  const char* text;
  int nests;  // steps that are nests, fused
};

const std::vector<SymbolValues> kSizes = {{{"T", 1}, {"B", 1}}, {{"T", 7}, {"B", 3}}, {{"T", 40}, {"B", 2}}};

constexpr Row kRows[] = {
    {"chain", R"(graph @g(%x: f32[T, 8], %y: f32[8]) symbols(T in 1..64 hint 8) {
  %a = aten.add(%x, %y) : f32[T, 8]
  %b = aten.gelu(%a) : f32[T, 8]
  %c = aten.gelu(%b, approximate="tanh") : f32[T, 8]
  %d = aten.silu(%c) : f32[T, 8]
  return %d
})",
     1},
    {"f16 rounds once a node", R"(graph @g(%x: f16[T, 8]) symbols(T in 1..64 hint 8) {
  %a = aten.add.Scalar(%x, scalar=0.1) : f16[T, 8]
  %b = aten.exp(%a) : f16[T, 8]
  %c = aten.softmax(%b, dim=1) : f16[T, 8]
  return %c
})",
     1},
    {"integers", R"(graph @g(%x: i32[T, 5], %y: i64[5]) symbols(T in 1..64 hint 8) {
  %a = aten.mul(%x, %x) : i32[T, 5]
  %b = aten.add(%a, %y) : i64[T, 5]
  %c = aten.remainder(%b, %b) : i64[T, 5]
  %p = aten.sum(%b, dim=[1]) : i64[T]
  %q = aten.argmax(%b, dim=1) : i64[T]
  %r = aten.gt.Scalar(%b, scalar=2) : bool[T, 5]
  %s = aten.any(%r, dim=[0]) : bool[5]
  return %p, %q, %s
})",
     2},
    {"layer norm after a sum of three", R"(const $g: f32[8]
const $b: f32[8]
graph @g(%x: f32[T, 8], %y: f32[T, 8], %z: f32[T, 8]) symbols(T in 1..64 hint 8) {
  %a = aten.add(%x, %y) : f32[T, 8]
  %c = aten.add(%a, %z) : f32[T, 8]
  %n = aten.layer_norm(%c, $g, $b, normalized_shape=[8]) : f32[T, 8]
  return %n
})",
     1},
    {"softmax over a middle dimension", R"(graph @g(%x: f32[2, T, 3]) symbols(T in 1..64 hint 8) {
  %a = aten.mul.Scalar(%x, scalar=0.5) : f32[2, T, 3]
  %s = aten.softmax(%a, dim=1) : f32[2, T, 3]
  return %s
})",
     1},
    {"statistics", R"(graph @g(%x: f32[T, 20]) symbols(T in 1..64 hint 8) {
  %v = aten.var(%x, dim=[1]) : f32[T]
  %m = aten.mean(%x, dim=[1], keepdim=true) : f32[T, 1]
  %l = aten.linalg_vector_norm(%x, ord=3.0, dim=[1]) : f32[T]
  %s = aten.log_softmax(%x, dim=1) : f32[T, 20]
  return %v, %m, %l, %s
})",
     1},
    {"linear, bias, gelu, residual, norm", R"(const $w: f32[8, 8]
const $b: f32[8]
const $g: f32[8]
graph @g(%x: f32[T, 8]) symbols(T in 1..64 hint 8) {
  %a = aten.linear(%x, $w, $b) : f32[T, 8]
  %c = aten.gelu(%a) : f32[T, 8]
  %d = aten.add(%c, %x) : f32[T, 8]
  %n = edge.rms_norm(%d, $g) : f32[T, 8]
  return %d, %n
})",
     1},
    {"a prologue, and a linear into softmax", R"(const $w: f32[5, 8]
graph @g(%x: f32[T, 8], %y: f32[T, 8]) symbols(T in 1..64 hint 8) {
  %a = aten.mul(%x, %y) : f32[T, 8]
  %b = aten.linear(%a, $w, none) : f32[T, 5]
  %c = aten.softmax(%b, dim=1) : f32[T, 5]
  return %c
})",
     1},
    {"gate and up", R"(const $g: f32[6, 8]
const $u: f32[6, 8]
graph @g(%x: f32[T, 8]) symbols(T in 1..64 hint 8) {
  %a = aten.linear(%x, $g, none) : f32[T, 6]
  %b = aten.linear(%x, $u, none) : f32[T, 6]
  %c = aten.silu(%a) : f32[T, 6]
  %d = aten.mul(%c, %b) : f32[T, 6]
  return %d
})",
     1},
    {"embeddings", R"(const $w: f32[3, 8]
const $p: f32[64, 8]
const $g: f32[8]
graph @g(%ids: i32[T], %pos: i64[T]) symbols(T in 1..64 hint 8) {
  %a = aten.embedding($w, %ids) : f32[T, 8]
  %b = aten.embedding($p, %pos) : f32[T, 8]
  %t = aten.select($p, dim=0, index=1) : f32[8]
  %c = aten.add(%a, %b) : f32[T, 8]
  %d = aten.add(%c, %t) : f32[T, 8]
  %n = aten.layer_norm(%d, $g, none, normalized_shape=[8]) : f32[T, 8]
  return %n
})",
     1},
    {"pooling and norm",
     R"(graph @g(%x: f32[T, 8], %cu: i32[B+1]) symbols(T in 1..64 hint 8, B in 1..8 hint 2) {
  %p = edge.segment_pool(%x, %cu, mode="mean") : f32[B, 8]
  %n = aten.linalg_vector_norm(%p, dim=[1], keepdim=true) : f32[B, 1]
  %c = aten.clamp(%n, min=1e-12) : f32[B, 1]
  %y = aten.div(%p, %c) : f32[B, 8]
  return %y
})",
     1},
    {"pooling of every kind",
     R"(graph @g(%x: f32[T, 8], %cu: i32[B+1]) symbols(T in 1..64 hint 8, B in 1..8 hint 2) {
  %a = edge.segment_pool(%x, %cu, mode="max") : f32[B, 8]
  %b = edge.segment_pool(%x, %cu, mode="cls") : f32[B, 8]
  %c = edge.segment_pool(%x, %cu, mode="last") : f32[B, 8]
  %d = edge.segment_pool(%x, %cu, mode="sum") : f32[B, 8]
  %e = edge.segment_pool(%x, %cu, mode="mean_sqrt_len") : f32[B, 8]
  %f = edge.segment_pool(%x, %cu, mode="weighted_mean") : f32[B, 8]
  %y = aten.cat(%a, %b, %c, %d, %e, %f, dim=1) : f32[B, 48]
  return %y
})",
     1},
    {"attention on a merged product", R"(const $q: f32[8, 8]
const $k: f32[4, 8]
const $v: f32[4, 8]
const $o: f32[8, 8]
graph @g(%x: f32[T, 8], %cu: i32[B+1]) symbols(T in 1..64 hint 8, B in 1..8 hint 2) {
  %q = aten.linear(%x, $q, none) : f32[T, 8]
  %k = aten.linear(%x, $k, none) : f32[T, 4]
  %v = aten.linear(%x, $v, none) : f32[T, 4]
  %a = edge.varlen_attention(%q, %k, %v, %cu, heads=4, kv_heads=2, scale=0.5, causal=true) : f32[T, 8]
  %y = aten.linear(%a, $o, none) : f32[T, 8]
  return %y
})",
     3},
    {"views and copies", R"(graph @g(%x: f32[T, 6]) symbols(T in 1..64 hint 8) {
  %a = aten.relu(%x) : f32[T, 6]
  %v = aten.view(%a, size=[T, 2, 3]) : f32[T, 2, 3]
  %p = aten.permute(%v, dims=[2, 0, 1]) : f32[3, T, 2]
  %s = aten.slice(%p, dim=0, start=1) : f32[2, T, 2]
  %y = aten.neg(%s) : f32[2, T, 2]
  return %y, %p, %x
})",
     3},
    {"cat", R"(const $w: f32[4, 6]
graph @g(%x: f32[T, 6], %y: f32[T, 2]) symbols(T in 1..64 hint 8) {
  %l = aten.linear(%x, $w, none) : f32[T, 4]
  %n = aten.neg(%y) : f32[T, 2]
  %c = aten.cat(%l, %n, %y, dim=1) : f32[T, 8]
  %m = aten.mean(%c, dim=[1]) : f32[T]
  return %c, %m
})",
     1},
    {"a product in its rows",
     R"(graph @g(%x: f32[T, 6], %y: f32[T, 6]) symbols(T in 1..64 hint 8) {
  %a = aten.relu(%x) : f32[T, 6]
  %t = aten.permute(%y, dims=[1, 0]) : f32[6, T]
  %m = aten.matmul(%a, %t) : f32[T, T]
  %s = aten.softmax(%m, dim=1) : f32[T, T]
  return %s
})",
     1},
    {"batched products, vectors, other types",
     R"(graph @g(%x: f32[B, T, 5], %y: f32[5, 3], %z: f32[2, 1, 5, 3], %v: f32[5], %i: i32[T, 4], %j: i32[4, 2], %d: f64[3, 5]) symbols(T in 1..64 hint 8, B in 1..8 hint 2) {
  %a = aten.matmul(%x, %y) : f32[B, T, 3]
  %b = aten.matmul(%x, %z) : f32[2, B, T, 3]
  %c = aten.matmul(%x, %v) : f32[B, T]
  %e = aten.matmul(%v, %y) : f32[3]
  %f = aten.matmul(%v, %v) : f32[]
  %g = aten.matmul(%i, %j) : i32[T, 2]
  %h = aten.linear(%d, %d, none) : f64[3, 3]
  return %a, %b, %c, %e, %f, %g, %h
})",
     7},
    {"a product of what is computed, read again",
     R"(graph @g(%x: f32[T, 8], %y: f32[8, 8]) symbols(T in 1..64 hint 8) {
  %a = aten.gelu(%x) : f32[T, 8]
  %m = aten.matmul(%a, %y) : f32[T, 8]
  %r = aten.add(%m, %a) : f32[T, 8]
  %n = aten.layer_norm(%r, none, none, normalized_shape=[8]) : f32[T, 8]
  return %n
})",
     1},
    {"attention over dense heads, masked",
     R"(graph @g(%q: f32[B, 4, T, 6], %k: f32[B, 2, T, 6], %v: f32[B, 2, T, 5], %m: bool[B, 1, 1, T]) symbols(T in 1..64 hint 8, B in 1..8 hint 2) {
  %a = aten.scaled_dot_product_attention(%q, %k, %v, %m, enable_gqa=true) : f32[B, 4, T, 5]
  %r = aten.relu(%a) : f32[B, 4, T, 5]
  return %r
})",
     1},
    {"causal attention with a bias",
     R"(graph @g(%q: f32[B, T, 6], %k: f32[B, T, 6], %v: f32[B, T, 6], %m: f32[T, T]) symbols(T in 1..64 hint 8, B in 1..8 hint 2) {
  %a = aten.scaled_dot_product_attention(%q, %k, %v, %m, is_causal=true, scale=0.25) : f32[B, T, 6]
  return %a
})",
     1},
    {"rotations of halves and of neighbours",
     R"(graph @g(%x: f32[T, 24], %p: i32[T]) symbols(T in 1..64 hint 8) {
  %a = edge.rope(%x, %p, head_dim=8) : f32[T, 24]
  %b = edge.rope(%a, %p, head_dim=6, base=500.0, interleaved=true) : f32[T, 24]
  return %b
})",
     2},
    {"positions of packed rows",
     R"(graph @g(%ids: i32[T], %cu: i32[B+1]) symbols(T in 1..64 hint 8, B in 1..8 hint 2) {
  %p = edge.packed_positions(%ids, %cu) : i32[T]
  %q = aten.mul.Scalar(%p, scalar=2) : i32[T]
  return %q
})",
     1},
    {"sums along a row, in it, and down the columns",
     R"(graph @g(%x: f32[T, 3, 5], %i: bool[T, 5]) symbols(T in 1..64 hint 8) {
  %r = aten.relu(%x) : f32[T, 3, 5]
  %a = aten.cumsum(%r, dim=2) : f32[T, 3, 5]
  %b = aten.cumsum(%r, dim=1) : f32[T, 3, 5]
  %s = aten.add(%a, %b) : f32[T, 3, 5]
  %c = aten.cumsum(%i, dim=0) : i64[T, 5]
  return %s, %c
})",
     2},
    {"symbols with the names of axes",
     R"(graph @g(%x: f32[m, n0]) symbols(m in 1..9 hint 3, n0 in 1..9 hint 5) {
  %s = aten.softmax(%x, dim=1) : f32[m, n0]
  return %s
})",
     1},
};

LowerOptions unfused() {
  LowerOptions options;
  options.fuse = false;
  return options;
}

LowerOptions prebuilt(const std::string& op) {
  LowerOptions options;
  options.prebuilt_ops = {op};
  options.least_prebuilt_work = 0;
  return options;
}

TEST(Lower, small_graphs_equal_evaluate_and_fuse_as_expected) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const Graph graph = optimized(row.text);
    std::vector<SymbolValues> sizes = kSizes;
    if (graph.symbols().size() == 2 && graph.symbols()[0].name == "m")
      sizes = {{{"m", 1}, {"n0", 1}}, {{"m", 3}, {"n0", 7}}};
    const auto program = lower(graph, {});
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_EQ(check_graph(graph, *program, sizes), "") << print(graph) << text_of(*program, graph);
    EXPECT_EQ(nest_steps(*program), row.nests) << text_of(*program, graph);
    const auto single = lower(graph, unfused());
    ASSERT_TRUE(single) << single.error().message;
    EXPECT_EQ(check_graph(graph, *single, sizes), "") << text_of(*single, graph);
    EXPECT_GE(nest_steps(*single), nest_steps(*program));
  }
}

TEST(Lower, preferred_kernels_serve_what_is_much_work) {
  const Graph graph = graph_of(R"(graph @g(%x: f32[T, 8], %y: f32[8, 5]) symbols(T in 1..4096 hint 100) {
  %m = aten.matmul(%x, %y) : f32[T, 5]
  return %m
})");
  LowerOptions options = prebuilt("aten.matmul");
  for (const int64_t work : {3999, 4000}) {
    options.least_prebuilt_work = work;
    const auto program = lower(graph, options);
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_EQ(nest_steps(*program), work == 4000 ? 1 : 0);
    EXPECT_EQ(check_graph(graph, *program, kSizes), "");
  }
}

// Too long for a Local: nothing of it may be stored in between, so it stays whole.
TEST(Lower, a_product_that_has_no_nest_is_not_taken_apart) {
  const Graph graph = graph_of(R"(graph @g(%x: f32[T, 6], %m: bool[T, T]) symbols(T in 1..64 hint 8) {
  %a = aten.scaled_dot_product_attention(%x, %x, %x, %m) : f32[T, 6]
  return %a
})");
  LowerOptions options;
  options.row_limit = 32;
  const auto program = lower(graph, options);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->steps.size(), 1U) << text_of(*program, graph);
  EXPECT_EQ(program->steps[0].nest, -1);
}

TEST(Lower, rows_of_little_work_need_not_be_equal) {
  const std::string text = R"(graph @g(%x: f32[T, 8]) symbols(T in 1..MOST hint 8) {
  %a = aten.gelu(%x) : f32[T, 8]
  %f = aten.select(%a, dim=0, index=0) : f32[8]
  %e = aten.exp(%f) : f32[8]
  return %a, %e
})";
  for (const char* most : {"64", "4096"}) {
    std::string own = text;
    own.replace(own.find("MOST"), 4, most);
    const Graph graph = graph_of(own);
    const auto program = lower(graph, {});
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_EQ(nest_steps(*program) == 1, std::string_view(most) == "64") << text_of(*program, graph);
    EXPECT_EQ(check_graph(graph, *program, kSizes), "");
  }
}

TEST(Lower, what_the_back_end_refuses_keeps_its_prebuilt_kernel) {
  const Graph graph = graph_of(R"(graph @g(%x: f32[T, 8]) symbols(T in 1..64 hint 8) {
  %a = aten.sin(%x) : f32[T, 8]
  %b = aten.exp(%a) : f32[T, 8]
  return %b
})");
  LowerOptions options;
  options.accepts = [](const LoopNest& nest) -> Status {
    for (const Expr& e : nest.exprs)
      if (e.kind == Expr::Kind::kUnary && e.op == ScalarOp::kSin)
        return fail(ErrorCode::kUnsupported, "slot refused: sin");
    return {};
  };
  const auto program = lower(graph, options);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->steps.size(), 2U);
  EXPECT_EQ(program->steps[0].nest, -1);
  EXPECT_EQ(program->steps[1].nest, 0);
  ASSERT_EQ(program->unfused.size(), 1U);
  EXPECT_EQ(program->unfused[0].reason, "slot refused: aten.sin is a prebuilt kernel");
  EXPECT_EQ(check_graph(graph, *program, kSizes), "");
}

TEST(Lower, an_edge_into_a_prebuilt_kernel_has_its_reason_also_behind_a_copied_view) {
  const Graph graph = graph_of(R"(graph @g(%x: f32[T, 8]) symbols(T in 1..64 hint 8) {
  %a = aten.neg(%x) : f32[T, 8]
  %t = aten.transpose(%a, dim0=0, dim1=1) : f32[8, T]
  %c = aten.cumsum(%t, dim=0) : f32[8, T]
  return %c
})");
  const auto program = lower(graph, prebuilt("aten.cumsum"));
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->unfused.size(), 1U) << text_of(*program, graph);
  EXPECT_EQ(program->unfused[0].producer, 0);
  EXPECT_EQ(program->unfused[0].consumer, 2);
  EXPECT_EQ(program->unfused[0].reason, "slot refused: aten.cumsum is a prebuilt kernel");
  EXPECT_EQ(check_graph(graph, *program, kSizes), "");
}

TEST(Lower, a_fusion_that_would_close_a_cycle_is_refused_with_its_reason) {
  // a -> matmul -> c and a -> c: a and c may not share a nest.
  const Graph graph = graph_of(R"(graph @g(%x: f32[8, 8]) {
  %a = aten.gelu(%x) : f32[8, 8]
  %m = aten.matmul(%a, %a) : f32[8, 8]
  %c = aten.add(%m, %a) : f32[8, 8]
  return %c
})");
  const auto program = lower(graph, prebuilt("aten.matmul"));
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->steps.size(), 3U);
  bool found = false;
  for (const Unfused& edge : program->unfused)
    found = found || (edge.producer == 0 && edge.consumer == 2 && edge.reason == "would cycle");
  EXPECT_TRUE(found) << text_of(*program, graph);
  EXPECT_EQ(check_graph(graph, *program, {{}}), "");
}

TEST(Lower, rows_longer_than_the_limit_are_no_locals) {
  LowerOptions options;
  options.row_limit = 4;
  const Graph graph = optimized(kRows[6].text);
  const auto program = lower(graph, options);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_GT(nest_steps(*program), 1);
  bool found = false;
  for (const Unfused& edge : program->unfused) found = found || edge.reason == "too large";
  EXPECT_TRUE(found) << text_of(*program, graph);
  EXPECT_EQ(check_graph(graph, *program, kSizes), "");
}

TEST(Lower, equal_layers_are_one_nest) {
  const Graph graph = graph_of(R"(const $a: f32[8, 8]
const $b: f32[8, 8]
graph @g(%x: f32[T, 8]) symbols(T in 1..64 hint 8) {
  %p = aten.linear(%x, $a, none) : f32[T, 8]
  %q = aten.gelu(%p) : f32[T, 8]
  %r = aten.linear(%q, $b, none) : f32[T, 8]
  %s = aten.gelu(%r) : f32[T, 8]
  return %s
})");
  const auto program = lower(graph, {});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->steps.size(), 2U);
  EXPECT_EQ(program->nests.size(), 1U);
  EXPECT_EQ(check_graph(graph, *program, kSizes), "");
}

}  // namespace
}  // namespace edge_infer::loop::test
