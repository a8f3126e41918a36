// What the gate makes of two sets of vectors, and its text in the cache.
#include "compiler/precision_gate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace edge_infer {
namespace {

GateOutputs rows_of(std::vector<std::vector<double>> rows) {
  HostTensor tensor = *make_host_tensor(
      DType::kF32, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows.front().size())});
  std::vector<double> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  tensor.store(all);
  GateOutputs outputs;
  outputs.tensors.push_back(std::move(tensor));
  return outputs;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
const std::vector<std::string> kNames = {"first", "second", "third"};

GateVerdict verdict_of(const GateOutputs& found, const GateOutputs& reference, DType type = DType::kF16) {
  const auto verdict = compare_outputs(type, found, reference, kNames);
  EXPECT_TRUE(verdict) << verdict.error().message;
  return verdict.value_or(GateVerdict{.refused = "error"});
}

TEST(PrecisionGate, names_the_row_of_the_lowest_cosine) {
  const GateVerdict v = verdict_of(rows_of({{1, 0}, {1, 0.1}, {0, 2}}), rows_of({{2, 0}, {1, 0}, {0, 1}}));
  EXPECT_NEAR(v.lowest_cosine, 1 / std::sqrt(1.01), 1e-6);
  EXPECT_EQ(v.lowest_at, "second");
  EXPECT_EQ(v.rows, 3);
  EXPECT_FALSE(v.passes());
}

TEST(PrecisionGate, each_type_has_its_bound) {
  // A cosine of 0.9998.
  const GateOutputs off = rows_of({{1, 0.02}}), reference = rows_of({{1, 0}});
  EXPECT_FALSE(verdict_of(off, reference, DType::kF16).passes());
  EXPECT_TRUE(verdict_of(off, reference, DType::kBF16).passes());
  EXPECT_TRUE(verdict_of(reference, reference, DType::kF16).passes());
}

TEST(PrecisionGate, one_number_that_is_not_finite_fails) {
  for (const double bad : {kNan, kInf, -kInf}) {
    const GateVerdict v =
        verdict_of(rows_of({{1, 0}, {1, bad}, {bad, bad}}), rows_of({{1, 0}, {1, 0}, {1, 0}}));
    EXPECT_EQ(v.not_finite, 2);
    EXPECT_EQ(v.not_finite_at, "second");
    EXPECT_EQ(v.lowest_at, "first");
    EXPECT_FALSE(v.passes());
  }
}

TEST(PrecisionGate, what_fp32_cannot_compute_is_no_precisions_fault) {
  const GateVerdict v = verdict_of(rows_of({{1, kNan}, {1, 0}}), rows_of({{kNan, 0}, {1, 0}}));
  EXPECT_EQ(v.broken_rows, 1);
  EXPECT_EQ(v.rows, 1);
  EXPECT_TRUE(v.passes());
}

TEST(PrecisionGate, zeros_agree_with_zeros_alone) {
  EXPECT_TRUE(verdict_of(rows_of({{0, 0}}), rows_of({{0, 0}})).passes());
  EXPECT_FALSE(verdict_of(rows_of({{0, 0}}), rows_of({{0, 1}})).passes());
  EXPECT_FALSE(verdict_of(rows_of({{0, 1}}), rows_of({{0, 0}})).passes());
}

TEST(PrecisionGate, outputs_of_other_sizes_are_an_error) {
  EXPECT_FALSE(compare_outputs(DType::kF16, rows_of({{1, 0}}), rows_of({{1, 0, 0}}), kNames));
  EXPECT_FALSE(compare_outputs(DType::kF16, GateOutputs{}, rows_of({{1, 0}}), kNames));
}

TEST(PrecisionGate, the_rule_covers_the_sample_and_the_bound) {
  GateSample sample;
  sample.inputs.push_back(*make_host_tensor(DType::kI32, {3}));
  const std::string rule = gate_rule(DType::kF16, sample);
  EXPECT_EQ(rule, gate_rule(DType::kF16, sample));
  EXPECT_NE(rule, gate_rule(DType::kBF16, sample));
  GateSample other = sample;
  other.inputs[0].bytes[4] = std::byte{1};
  EXPECT_NE(rule, gate_rule(DType::kF16, other));
  other = sample;
  other.inputs[0].sizes = {1, 3};
  EXPECT_NE(rule, gate_rule(DType::kF16, other));
}

TEST(GateVerdict, text_gives_an_equal_one_back_and_damage_none) {
  const GateVerdict v{.type = DType::kBF16,
                      .bound = 0.9995,
                      .rows = 8,
                      .broken_rows = 1,
                      .lowest_cosine = 0.12345678901234567,
                      .lowest_at = "sequence 3, 16 tokens",
                      .not_finite = 2,
                      .not_finite_at = "a \"quoted\" name\n",
                      .refused = ""};
  const std::string text = print_verdict(v);
  const auto parsed = parse_verdict(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, v);
  for (size_t i = 0; i < text.size(); ++i) EXPECT_FALSE(parse_verdict(text.substr(0, i))) << i;
  EXPECT_FALSE(parse_verdict(text + " "));
  EXPECT_FALSE(parse_verdict("gate 2" + text.substr(6)));
  for (const char* number : {"nan", "inf", "1e999", "x"}) {
    std::string bad = text;
    bad.replace(bad.find("0.9995"), 6, number);
    EXPECT_FALSE(parse_verdict(bad)) << number;
  }
}

}  // namespace
}  // namespace edge_infer
