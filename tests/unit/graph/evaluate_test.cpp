// What evaluate() refuses, how symbols are bound, and how floats are stored.
#include "compiler/graph/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/graph/parse.h"
#include "compiler/graph/verify.h"

namespace edge_infer {
namespace {

HostTensor floats(std::vector<int64_t> sizes, std::vector<double> values) {
  HostTensor tensor = *make_host_tensor(DType::kF32, std::move(sizes));
  tensor.store(values);
  return tensor;
}
HostTensor integers(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> values) {
  HostTensor tensor = *make_host_tensor(dtype, std::move(sizes));
  tensor.store(values);
  return tensor;
}

std::string error_of(const char* text, const TensorMap& tensors) {
  const auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  EXPECT_TRUE(verify(*graph)) << verify(*graph).error().message;
  const auto result = evaluate(*graph, tensors);
  return result ? "" : result.error().message;
}

constexpr const char* kGather = R"(const $w: f32[3, 2]
graph @g(%ids: i32[T]) symbols(T in 1..4 hint 2) {
  %y = aten.embedding($w, %ids) : f32[T, 2]
  return %y
})";

TEST(Evaluate, refuses_indices_out_of_range_and_names_the_node) {
  const HostTensor w = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(error_of(kGather, {{"w", w}, {"ids", integers(DType::kI32, {2}, {2, 0})}}), "");
  EXPECT_EQ(error_of(kGather, {{"w", w}, {"ids", integers(DType::kI32, {2}, {0, 3})}}),
            "%y = aten.embedding($w, %ids) : f32[T, 2]: index 3 of a dimension of size 3");
  EXPECT_NE(error_of(kGather, {{"w", w}, {"ids", integers(DType::kI32, {1}, {-1})}}), "");
}

TEST(Evaluate, refuses_missing_and_mistyped_tensors_and_symbols_out_of_range) {
  const HostTensor w = floats({3, 2}, {1, 2, 3, 4, 5, 6}), ids = integers(DType::kI32, {2}, {0, 1});
  EXPECT_EQ(error_of(kGather, {{"ids", ids}}), "constant \"w\" f32[3, 2] is not given");
  EXPECT_EQ(error_of(kGather, {{"w", w}}), "input \"ids\" i32[T] is not given");
  EXPECT_EQ(error_of(kGather, {{"w", floats({2, 2}, {1, 2, 3, 4})}, {"ids", ids}}),
            "constant w is f32[2, 2], expected f32[3, 2] = f32[3, 2]");
  EXPECT_EQ(error_of(kGather, {{"w", w}, {"ids", integers(DType::kI64, {2}, {0, 1})}}),
            "input ids is i64[2], expected i32[T] = i32[2]");
  EXPECT_EQ(error_of(kGather, {{"w", w}, {"ids", integers(DType::kI32, {5}, {0, 1, 0, 1, 0})}}),
            "symbol T is 5, expected 1..4");
  HostTensor cut = w;
  cut.bytes.resize(8);
  EXPECT_EQ(error_of(kGather, {{"w", cut}, {"ids", ids}}), "constant w has 8 bytes, expected f32 of [3, 2]");
}

TEST(Evaluate, binds_symbols_from_linear_sizes_and_checks_the_others) {
  const auto graph = parse_graph(
      "graph @g(%a: f32[2*T+1, B], %b: f32[T*B], %c: i32[B+1]) symbols(T in 1..9 hint 2, B in 0..9 hint 2) "
      "{\n"
      "  return %a\n}");
  ASSERT_TRUE(graph);
  using Sizes = std::vector<std::vector<int64_t>>;
  const auto values = bind_symbols(*graph, Sizes{{7, 4}, {12}, {5}});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(*values, (SymbolValues{{"T", 3}, {"B", 4}}));
  EXPECT_EQ(bind_symbols(*graph, Sizes{{7, 4}, {13}, {5}}).error().message,
            "input b has sizes [13], expected f32[B*T] = [12]");
  EXPECT_EQ(bind_symbols(*graph, Sizes{{7, 4}, {12}, {6}}).error().message,
            "input c has sizes [6], expected i32[B+1] = [5]");
  EXPECT_EQ(bind_symbols(*graph, Sizes{{8, 4}, {12}, {5}}).error().message,
            "symbol T is not determined by the sizes of the inputs");
  EXPECT_FALSE(bind_symbols(*graph, Sizes{{7, 4}, {12}}));
  EXPECT_FALSE(bind_symbols(*graph, Sizes{{7}, {12}, {5}}));
}

TEST(Evaluate, refuses_tensors_beyond_memory_instead_of_allocating_them) {
  const char* text =
      "graph @g(%x: f32[T]) symbols(T in 1..inf hint 1) {\n"
      "  %y = aten.full(size=[1000000*T, 1000000, 1000000], fill_value=1.0) : f32[1000000*T, 1000000, "
      "1000000]\n"
      "  return %x\n}";
  EXPECT_NE(error_of(text, {{"x", floats({1}, {0})}}).find("limit"), std::string::npos);
}

TEST(Evaluate, refuses_offsets_that_do_not_ascend_over_all_rows) {
  const char* text =
      "graph @g(%x: f32[T, 1], %cu: i32[B+1]) symbols(T in 0..9 hint 2, B in 1..9 hint 2) {\n"
      "  %y = edge.segment_pool(%x, %cu, mode=\"mean\") : f32[B, 1]\n  return %y\n}";
  const HostTensor x = floats({3, 1}, {1, 2, 3});
  EXPECT_EQ(error_of(text, {{"x", x}, {"cu", integers(DType::kI32, {3}, {0, 1, 3})}}), "");
  for (const std::vector<int64_t>& cu : {std::vector<int64_t>{0, 1, 2}, {1, 2, 3}, {0, 4, 3}, {0, -1, 3}})
    EXPECT_NE(error_of(text, {{"x", x}, {"cu", integers(DType::kI32, {3}, cu)}}), "");
}

TEST(HostTensor, half_types_round_to_nearest_even_and_read_back) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    HostTensor all = *make_host_tensor(dtype, {65536});
    for (size_t i = 0; i < 65536; ++i) {
      const auto bits = static_cast<uint16_t>(i);
      std::memcpy(&all.bytes[2 * i], &bits, 2);
    }
    const auto values = all.to_doubles();
    HostTensor again = *make_host_tensor(dtype, {65536});
    again.store(values);
    for (size_t i = 0; i < 65536; ++i)
      if (!std::isnan(values[i])) {
        ASSERT_EQ(std::memcmp(&all.bytes[2 * i], &again.bytes[2 * i], 2), 0) << i;
      }
    // Halfway between neighbours the even one wins; a little off, the nearer.
    for (size_t i = 1; i + 1 < 0x7b00; ++i) {
      const double lo = values[i], hi = values[i + 1], middle = (lo + hi) / 2;
      ASSERT_EQ(round_to(dtype, middle), i % 2 == 0 ? lo : hi) << i;
      ASSERT_EQ(round_to(dtype, std::nextafter(middle, hi)), hi) << i;
      ASSERT_EQ(round_to(dtype, std::nextafter(middle, lo)), lo) << i;
    }
  }
}

}  // namespace
}  // namespace edge_infer
