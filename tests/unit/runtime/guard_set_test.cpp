#include "runtime/guards/guard_set.h"

#include <gtest/gtest.h>

namespace edge_infer {
namespace {

using Kind = Guard::Kind;

// ids i32[T], cu i32[B+1], T in 1..8
GuardSet packed_guards() {
  GuardSet set;
  set.add({.kind = Kind::kInputCount, .value = 2}, "graph");
  set.add({.kind = Kind::kDType, .input = 0, .value = static_cast<int64_t>(DType::kI32)}, "input %ids");
  set.add({.kind = Kind::kRank, .input = 0, .value = 1}, "input %ids");
  set.add({.kind = Kind::kSizeRange, .dim = 0, .input = 0, .value = 1, .upper = 8}, "input %ids");
  set.add({.kind = Kind::kRank, .input = 1, .value = 1}, "input %cu");
  set.add({.kind = Kind::kSameSize, .dim = 0, .other_dim = 0, .input = 1, .other_input = 0, .value = 1},
          "input %cu");
  set.add({.kind = Kind::kMultipleOf, .dim = 0, .input = 0, .value = 2}, "node 3");
  set.add({.kind = Kind::kAlignment, .input = 0, .value = 4}, "input %ids");
  set.add({.kind = Kind::kPrecision, .value = 0}, "settings");
  return set;
}

struct Call {
  int32_t data[16] = {};
  std::vector<int64_t> ids_size = {4}, cu_size = {5};
  DType dtype = DType::kI32;
  CallSettings settings;
  std::vector<TensorView> inputs() { return {{data, dtype, ids_size}, {data, DType::kI32, cu_size}}; }
  std::string failure() {
    const GuardSet set = packed_guards();
    const auto views = inputs();
    const auto failed = set.first_failure(views, settings);
    return failed ? set.describe_failure(*failed, views, settings) : "";
  }
};

TEST(GuardSet, holds_for_a_call_in_range) {
  EXPECT_EQ(Call{}.failure(), "");
}

TEST(GuardSet, names_guard_expected_found_and_origin) {
  Call longer;
  longer.ids_size = {10};
  EXPECT_EQ(longer.failure(), "size(input 0, dim 0) in 1..8 (input %ids): found 10");
  Call other_dtype;
  other_dtype.dtype = DType::kI64;
  EXPECT_EQ(other_dtype.failure(), "dtype(input 0) == i32 (input %ids): found i64");
  Call other_rank;
  other_rank.ids_size = {2, 2};
  EXPECT_EQ(other_rank.failure(), "rank(input 0) == 1 (input %ids): found 2");
  Call unequal;
  unequal.cu_size = {9};
  EXPECT_EQ(unequal.failure(), "size(input 1, dim 0) == size(input 0, dim 0) + 1 (input %cu): found 9");
  Call odd;
  odd.ids_size = {3};
  odd.cu_size = {4};
  EXPECT_EQ(odd.failure(), "size(input 0, dim 0) is a multiple of 2 (node 3): found 3");
  Call precise;
  precise.settings.precision = CallSettings::Precision::kBF16;
  EXPECT_EQ(precise.failure(), "precision == fp32 (settings): found 1");
}

TEST(GuardSet, checks_the_number_of_inputs_before_it_reads_them) {
  Call call;
  const auto views = call.inputs();
  EXPECT_EQ(packed_guards().first_failure(std::span(views).first(1), call.settings), 0u);
}

TEST(GuardSet, sees_a_misaligned_address) {
  Call call;
  auto views = call.inputs();
  views[0].data = reinterpret_cast<std::byte*>(call.data) + 2;
  EXPECT_EQ(packed_guards().first_failure(views, call.settings), 7u);
}

}  // namespace
}  // namespace edge_infer
