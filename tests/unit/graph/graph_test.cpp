// Text, builder and verifier of graphs.
#include <gtest/gtest.h>

#include "compiler/capture/graph_builder.h"
#include "compiler/graph/op_table.h"
#include "compiler/graph/parse.h"
#include "compiler/graph/print.h"
#include "compiler/graph/verify.h"
#include "runtime/base/mapped_file.h"

namespace edge_infer {
namespace {

constexpr const char* kLayer = R"(const $w: f32[1536, 384]
const $b: f32[1536]
graph @g(%x: f32[T, 384], %cu: i32[B+1]) symbols(T in 1..16384 hint 128, B in 1..1024 hint 1) {
  %y = aten.linear(%x, $w, $b) : f32[T, 1536]
  %z = aten.gelu(%y, approximate="tanh") : f32[T, 1536]
  %p = edge.segment_pool(%z, %cu, mode="mean") : f32[B, 1536]
  return %p
}
)";

std::string error_of(std::string_view text) {
  auto graph = parse_graph(text);
  if (!graph) return graph.error().message;
  const Status status = verify(*graph);
  return status ? "" : status.error().message;
}

// A graph of one node on `x`, f32[2, T].
std::string error_of_node(const std::string& node) {
  return error_of("graph @g(%x: f32[2, T], %i: i64[3]) symbols(T in 1..8 hint 4) {\n  " + node +
                  "\n  return %x\n}\n");
}

TEST(GraphText, the_builder_prints_what_the_parser_reads) {
  GraphBuilder b("g");
  const SymInt t = b.symbol("T", {1, 16384}, 128), batch = b.symbol("B", {1, 1024}, 1);
  const ValueId w = b.constant("w", DType::kF32, {1536, 384}), bias = b.constant("b", DType::kF32, {1536});
  const ValueId x = b.input("x", DType::kF32, {t, 384}), cu = b.input("cu", DType::kI32, {batch + 1});
  const ValueId y = b.op("aten.linear", {x, w, bias}, {}, "y");
  const ValueId z = b.op("aten.gelu", {y}, {{"approximate", "tanh"}}, "z");
  b.output(b.op("edge.segment_pool", {z, cu}, {{"mode", "mean"}}, "p"));
  const auto graph = b.finish();
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(print(*graph), kLayer);
  const auto parsed = parse_graph(kLayer);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(verify(*parsed));
  EXPECT_EQ(print(*parsed), kLayer);
}

TEST(GraphText, keeps_kinds_states_odd_names_and_every_attribute_form) {
  const char* text = R"(const $"a \"b\"\x0a": f32[2] buffer
graph @"odd name"(%cache: f32[T, 2] state, %x: f32[T, 2]) symbols(T in 0..inf hint 3) {
  %a, %b = aten.split_with_sizes(%x, split_sizes=[1, 1], dim=1) : f32[T, 1], f32[T, 1]
  %c = aten.clamp(%x, max=inf) : f32[T, 2]
  %d = aten.add.Scalar(%c, scalar=2) : f32[T, 2]
  %e = aten.add.Scalar(%d, scalar=-0.1) : f32[T, 2]
  %f = aten.add.Scalar(%e, scalar=nan) : f32[T, 2]
  %g = aten.add.Scalar(%f, scalar=1e-300) : f32[T, 2]
  %h = aten.sum(%g, dim=[0, -1], keepdim=true) : f32[1, 1]
  %i = aten._to_copy(%h, dtype=bf16) : bf16[1, 1]
  %j = aten.slice(%x, end=T//2) : f32[T//2, 2]
  %k = aten.view(%x, size=[-1]) : f32[2*T]
  %l = aten.add(%x, $"a \"b\"\x0a") : f32[T, 2]
  return %l updates %cache, %i saved, %k, %a
}
)";
  const auto graph = parse_graph(text);
  ASSERT_TRUE(graph) << graph.error().message;
  const Status status = verify(*graph);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(print(*graph), text);
}

TEST(GraphText, reads_comments_spaces_and_defaults_that_print_drops) {
  const auto graph = parse_graph(
      "// first\n const $w : f32[ 4 , 2 ] // after\ngraph @g ( %x : f32 [ T//1 , 2 ] ) symbols ( T in 1..9 "
      "hint 2 ) {\n"
      "// inside\n%y=aten.gelu(%x,approximate=\"none\"):f32[T,2]%z = aten.linear(%x, $w) : f32[T, 4]\nreturn "
      "%y}// end");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(print(*graph),
            "const $w: f32[4, 2]\ngraph @g(%x: f32[T, 2]) symbols(T in 1..9 hint 2) {\n  %y = aten.gelu(%x) "
            ": f32[T, 2]\n"
            "  %z = aten.linear(%x, $w, none) : f32[T, 4]\n  return %y\n}\n");
}

TEST(GraphText, says_where_the_text_is_wrong) {
  EXPECT_EQ(error_of("graph @g(%x: f32[T) {"), "line 1 column 19: found \")\", expected \"]\"");
  EXPECT_EQ(error_of("graph @g() {\n  %y = aten.nope() : f32[]\n}"),
            "line 2 column 8: there is no op \"aten.nope\"");
  EXPECT_EQ(error_of_node("%y = aten.neg(%q) : f32[2, T]"), "line 2 column 18: %q is not defined");
  EXPECT_EQ(error_of_node("%x = aten.neg(%x) : f32[2, T]"), "line 2 column 4: %x is defined twice");
  EXPECT_EQ(error_of_node("%y = aten.neg(%x, dim=1) : f32[2, T]"),
            "line 2 column 21: aten.neg has no attribute dim");
  EXPECT_EQ(error_of_node("%y = aten.neg(%x, %x) : f32[2, T]"),
            "line 2 column 3: aten.neg: 2 operands, expected 1");
  EXPECT_EQ(error_of_node("%y = aten.gelu(%x, approximate=\"fast\") : f32[2, T]"),
            "line 2 column 3: aten.gelu: attribute approximate is \"fast\", expected one of none, tanh");
  EXPECT_EQ(error_of_node("%y = aten.softmax(%x) : f32[2, T]"),
            "line 2 column 3: aten.softmax: attribute dim is missing");
  EXPECT_NE(error_of("graph @g(%x: f32[1, 1, 1, 1, 1, 1, 1, 1, 1]) {\n return %x\n}").find("at most 8"),
            std::string::npos);
  EXPECT_FALSE(parse_graph(""));
  EXPECT_FALSE(parse_graph("graph @g() { return } x"));
}

TEST(Verify, names_the_node_and_both_types_or_sizes) {
  EXPECT_EQ(error_of_node("%y = aten.neg(%x) : f32[2, 2]"),
            "node y: aten.neg: result y is declared f32[2, 2], expected f32[2, T]");
  EXPECT_EQ(error_of_node("%y = aten.add(%x, %i) : f32[2, T]"),
            "node y: aten.add: sizes [2, T] and [3] do not broadcast: T and 3 differ and neither is 1");
  EXPECT_EQ(
      error_of_node("%y = aten.view(%x, size=[3, -1]) : f32[3, T]"),
      "node y: aten.view: f32[2, T] has 2*T elements, the view [3, (2*T)//3] has another multiple of 3");
  EXPECT_EQ(error_of_node("%y = aten.embedding(%x, %x) : f32[2, T, T]"),
            "node y: aten.embedding: indices is f32[2, T], expected i32 or i64");
  EXPECT_EQ(error_of_node("%y = aten.select(%x, dim=0, index=2) : f32[T]"),
            "node y: aten.select: index 2 of a dimension of size 2");
  EXPECT_EQ(error_of_node("%y = aten.slice(%x, dim=1, start=T-4) : f32[2, 4]"),
            "node y: aten.slice: bound T-4 may be negative or not");
}

TEST(Verify, holds_symbols_constants_and_states_to_their_rules) {
  EXPECT_EQ(error_of("graph @g(%x: f32[T]) {\n return %x\n}"), "x: symbol T in f32[T] is not declared");
  EXPECT_EQ(error_of("graph @g(%x: f32[T]) symbols(T in 4..2 hint 3) {\n return %x\n}"),
            "symbol T: range 4..2 and hint 3 are not in order");
  EXPECT_EQ(error_of("graph @g(%x: f32[T]) symbols(T in 1..2 hint 1, T in 1..2 hint 1) {\n return %x\n}"),
            "symbol T is declared twice");
  EXPECT_EQ(error_of("const $w: f32[T]\ngraph @g(%x: f32[T]) symbols(T in 1..2 hint 1) {\n return %x\n}"),
            "constant w: symbolic size in f32[T]");
  EXPECT_EQ(error_of("graph @g(%x: f32[2]) {\n return %x updates %x\n}"),
            "output x updates what is no state input");
  EXPECT_EQ(error_of("graph @g(%s: f32[3] state, %x: f32[2]) {\n return %x updates %s\n}"),
            "state s is f32[3], its update x is f32[2]");
  EXPECT_EQ(error_of("graph @g(%s: f32[2] state, %x: f32[2]) {\n return %x updates %s, %x updates %s\n}"),
            "state s is updated twice");
  EXPECT_EQ(error_of("graph @g(%x: f32[-3]) {\n return %x\n}"), "x: negative size in f32[-3]");
}

TEST(Verify, finds_what_only_a_pass_could_break) {
  auto graph = parse_graph(
      "graph @g(%x: f32[2]) {\n  %y = aten.neg(%x) : f32[2]\n  %z = aten.neg(%y) : f32[2]\n  return %z\n}");
  ASSERT_TRUE(graph);
  graph->node(0).inputs[0] = *graph->find("z");
  EXPECT_EQ(verify(*graph).error().message, "node y: aten.neg: operand z is used before it is defined");
  graph->node(0).inputs[0] = 77;
  EXPECT_FALSE(verify(*graph));
  graph->node(0).inputs[0] = 0;
  graph->node(0).attributes = {{"dim", int64_t{1}}};
  EXPECT_FALSE(verify(*graph));
}

TEST(GraphBuilder, keeps_the_first_error_and_survives_what_follows) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", DType::kF32, {3, 4});
  const ValueId wrong = b.op("aten.matmul", {x, x});
  const ValueId next = b.op("aten.add", {wrong, x});
  EXPECT_EQ(b.type(next).sizes[1], SymInt(0));
  b.output(next);
  const auto graph = b.finish();
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message, "aten.matmul: the inner size of the second operand is 3, expected 4");
}

TEST(GraphBuilder, shares_a_constant_asked_for_twice_and_refuses_another_type) {
  GraphBuilder b("g");
  EXPECT_EQ(b.constant("w", DType::kF32, {2}), b.constant("w", DType::kF32, {2}));
  b.constant("w", DType::kF32, {3});
  ASSERT_NE(b.error(), nullptr);
  EXPECT_EQ(b.error()->message, "constant \"w\" is f32[3] here and f32[2] before");
}

TEST(OpTable, rows_are_complete_and_unique) {
  std::map<std::string, int> count;
  for (const OpInfo& op : op_table()) {
    EXPECT_EQ(++count[op.name], 1) << op.name;
    EXPECT_NE(op.infer, nullptr) << op.name;
    EXPECT_NE(op.evaluate, nullptr) << op.name;
    EXPECT_EQ(find_op(op.name), &op);
  }
  EXPECT_EQ(find_op("aten.nope"), nullptr);
}

TEST(OpTable, every_row_is_documented) {
  const auto page = read_file("docs/graph_ir.md", 1 << 20);
  ASSERT_TRUE(page) << page.error().message;
  for (const OpInfo& op : op_table()) {
    const bool found = page->find('`' + op.name + '`') != std::string::npos ||
                       page->find('`' + op.name + '(') != std::string::npos;
    EXPECT_TRUE(found) << op.name;
  }
}

struct InferCase {
  const char* inputs;
  const char* node;  // without result and type
  const char* expected;
};

TEST(Infer, promotes_and_shapes_as_aten_does) {
  const InferCase cases[] = {
      {"%a: f32[T, 4], %b: f32[4]", "aten.add(%a, %b)", "f32[T, 4]"},
      {"%a: f32[T, 1], %b: f32[1, 5]", "aten.mul(%a, %b)", "f32[T, 5]"},
      {"%a: i32[3], %b: f32[]", "aten.add(%a, %b)", "f32[3]"},
      {"%a: f32[3], %b: f64[]", "aten.add(%a, %b)", "f32[3]"},
      {"%a: i32[3], %b: f64[]", "aten.add(%a, %b)", "f64[3]"},
      {"%a: i8[3], %b: u8[3]", "aten.add(%a, %b)", "i16[3]"},
      {"%a: f16[3], %b: bf16[3]", "aten.add(%a, %b)", "f32[3]"},
      {"%a: bf16[3], %b: i64[3]", "aten.add(%a, %b)", "bf16[3]"},
      {"%a: i64[3], %b: i32[3]", "aten.div(%a, %b)", "f32[3]"},
      {"%a: i32[3], %b: i32[3]", "aten.lt(%a, %b)", "bool[3]"},
      {"%a: i32[3]", "aten.add.Scalar(%a, scalar=1)", "i32[3]"},
      {"%a: i32[3]", "aten.add.Scalar(%a, scalar=1.0)", "f32[3]"},
      {"%a: bf16[3]", "aten.mul.Scalar(%a, scalar=0.5)", "bf16[3]"},
      {"%a: bool[3]", "aten.add.Scalar(%a, scalar=1)", "i64[3]"},
      {"%a: i32[3]", "aten.exp(%a)", "f32[3]"},
      {"%a: i32[2, 3]", "aten.sum(%a, dim=[1])", "i64[2]"},
      {"%a: f32[B, T, 8]", "aten.mean(%a, dim=[-1], keepdim=true)", "f32[B, T, 1]"},
      {"%a: f32[T, 8]", "aten.argmax(%a, dim=1)", "i64[T]"},
      {"%a: f32[T, 8]", "aten.argmin(%a)", "i64[]"},
      {"%a: f32[B, T, 384]", "aten.view(%a, size=[B*T, -1, 32])", "f32[B*T, 12, 32]"},
      {"%a: f32[B, T, 8]", "aten.permute(%a, dims=[2, 0, 1])", "f32[8, B, T]"},
      {"%a: f32[B, T, 8]", "aten.transpose(%a, dim0=-1, dim1=0)", "f32[8, T, B]"},
      {"%a: f32[T, 8]", "aten.slice(%a, dim=0, start=0, end=T)", "f32[T, 8]"},
      {"%a: f32[T, 8]", "aten.slice(%a, dim=0, end=4)", "f32[min(4, T), 8]"},
      {"%a: f32[T, 8]", "aten.slice(%a, dim=0, start=-1)", "f32[1, 8]"},
      {"%a: f32[T, 8]", "aten.slice(%a, dim=0, start=-3)", "f32[max(0, T-max(0, T-3)), 8]"},
      {"%a: f32[T, 8]", "aten.slice(%a, dim=0, start=T//2)", "f32[T-T//2, 8]"},
      {"%a: f32[T, 8]", "aten.slice(%a, dim=1, start=1, end=100, step=3)", "f32[T, 3]"},
      {"%a: f32[T, 8]", "aten.select(%a, dim=1, index=-1)", "f32[T]"},
      {"%a: f32[T, 1]", "aten.expand(%a, size=[B, -1, 7])", "f32[B, T, 7]"},
      {"%a: f32[T, 8]", "aten.unsqueeze(%a, dim=-1)", "f32[T, 8, 1]"},
      {"%a: f32[1, T, 1]", "aten.squeeze(%a)", "f32[T]"},
      {"%a: f32[1, T, 1]", "aten.squeeze(%a, dim=[0])", "f32[T, 1]"},
      {"%a: f32[T, 3], %b: f32[B, 3]", "aten.cat(%a, %b, %a)", "f32[B+2*T, 3]"},
      {"%a: f32[B, 12, T, 32], %b: f32[B, 12, 32, T]", "aten.matmul(%a, %b)", "f32[B, 12, T, T]"},
      {"%a: f32[T, 4], %b: f32[4]", "aten.matmul(%a, %b)", "f32[T]"},
      {"%a: f32[4], %b: f32[4]", "aten.matmul(%a, %b)", "f32[]"},
      {"%a: f32[5], %b: f32[T, 4], %c: f32[4, 5]", "aten.addmm(%a, %b, %c)", "f32[T, 5]"},
      {"%a: f32[B, T, 4], %b: f32[6, 4]", "aten.linear(%a, %b)", "f32[B, T, 6]"},
      {"%a: f32[9, 4], %b: i32[B, T]", "aten.embedding(%a, %b)", "f32[B, T, 4]"},
      {"%a: f32[T, 4], %b: i64[B]", "aten.index_select(%a, %b, dim=0)", "f32[B, 4]"},
      {"%a: f32[T, 4], %b: i64[2, 3]", "aten.gather(%a, %b, dim=1)", "f32[2, 3]"},
      {"%a: f32[B, 8, T, 4], %b: f32[B, 2, T, 4]",
       "aten.scaled_dot_product_attention(%a, %b, %b, enable_gqa=true)", "f32[B, 8, T, 4]"},
      {"%a: f32[T, 4]", "aten.full(size=[B, T], fill_value=1, dtype=i32)", "i32[B, T]"},
      {"%a: f32[T, 4]", "aten.arange(end=T)", "i64[T]"},
      {"%a: f32[T, 4]", "aten.arange(start=10, end=0, step=-3, dtype=f32)", "f32[4]"},
      {"%a: i32[T], %b: i32[B+1]", "edge.packed_positions(%a, %b)", "i32[T]"},
      {"%a: f32[T, 8], %b: f32[T, 4], %c: i32[B+1]",
       "edge.varlen_attention(%a, %b, %b, %c, heads=4, kv_heads=2, scale=0.5)", "f32[T, 8]"},
      {"%a: f32[T, 8], %b: i32[T]", "edge.rope(%a, %b, head_dim=4)", "f32[T, 8]"},
      {"%a: f32[T, 8]", "aten._to_copy(%a, dtype=f16)", "f16[T, 8]"},
  };
  for (const InferCase& c : cases) {
    const std::string text = std::string("graph @g(") + c.inputs +
                             ") symbols(T in 1..64 hint 4, B in 1..8 hint 2) {\n  %y = " + c.node + " : " +
                             c.expected + "\n  return %y\n}\n";
    EXPECT_EQ(error_of(text), "") << c.node;
  }
}

}  // namespace
}  // namespace edge_infer
