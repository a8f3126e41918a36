// Programs that lower_fallback makes of graphs, and the guards of those graphs, as text and back.
#include <gtest/gtest.h>

#include "compiler/fallback/lower_fallback.h"
#include "compiler/graph/parse.h"
#include "compiler/make_guards.h"
#include "runtime/cache/entry_text.h"

namespace edge_infer {
namespace {

// A BERT of one small layer over packed tokens: constants, packed weights, unit lists, temps in slots, calls
// of all kinds.
constexpr const char* kBert = R"(const $word: f32[30, 16]
const $wq: f32[16, 16]
const $bq: f32[16]
const $wi: f32[32, 16]
const $bi: f32[32]
const $wo: f32[16, 32]
const $bo: f32[16]
const $g: f32[16]
const $b: f32[16]
graph @tiny_bert(%ids: i32[T], %cu: i32[B+1]) symbols(T in 1..512 hint 16, B in 1..64 hint 1) {
  %e = aten.embedding($word, %ids) : f32[T, 16]
  %q = aten.linear(%e, $wq, $bq) : f32[T, 16]
  %a = edge.varlen_attention(%q, %e, %q, %cu, heads=4, kv_heads=4, scale=0.5) : f32[T, 16]
  %h = aten.add(%a, %e) : f32[T, 16]
  %n = aten.layer_norm(%h, $g, $b, normalized_shape=[16]) : f32[T, 16]
  %i = aten.linear(%n, $wi, $bi) : f32[T, 32]
  %u = aten.gelu(%i) : f32[T, 32]
  %o = aten.linear(%u, $wo, $bo) : f32[T, 16]
  %p = edge.segment_pool(%o, %cu, mode="mean") : f32[B, 16]
  return %p, %o
}
)";

TEST(FallbackText, a_tiny_bert_comes_back_with_its_guards) {
  const auto graph = parse_graph(kBert);
  ASSERT_TRUE(graph) << graph.error().message;
  for (const char* format : {"nk.f32.p32", "nk.f32.p48"}) {
    const Target target{
        .name = "cpu.avx2", .gemm_rows = 6, .gemm_columns = 16, .packed_linear_format = format};
    const auto program = lower_fallback(*graph, target);
    ASSERT_TRUE(program) << program.error().message;
    const GuardSet guards = make_guards(*graph, {});
    const std::string text = print_entry(guards, *program);
    const auto again = parse_entry(text);
    ASSERT_TRUE(again) << again.error().message << "\n" << text;
    EXPECT_TRUE(again->program == *program);
    EXPECT_TRUE(again->guards == guards);
    EXPECT_EQ(print_entry(again->guards, again->program), text);
  }
}

}  // namespace
}  // namespace edge_infer
