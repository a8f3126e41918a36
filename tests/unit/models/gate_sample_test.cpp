// What a model is judged on: the same for everyone, as the model is used, up to its limit.
#include "models/gate_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/models/real_model.h"

namespace edge_infer {
namespace {

constexpr int32_t kClassToken = 101, kSeparator = 102;  // of the test's model

class GateSampleTest : public testing::Test {
 protected:
  void SetUp() override {
    if (real_model().empty()) GTEST_SKIP() << "EDGE_INFER_TEST_MODEL is not set";
    auto tokenizer = Tokenizer::load(real_model());
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    tokenizer_ = *std::move(tokenizer);
  }
  static std::vector<int64_t> integers(const HostTensor& tensor) { return tensor.to_integers(); }

  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(GateSampleTest, has_sequences_of_many_lengths_between_special_tokens) {
  const GateSample sample = gate_sample(*tokenizer_, 512);
  ASSERT_EQ(sample.inputs.size(), 2U);
  const std::vector<int64_t> ids = integers(sample.inputs[0]), offsets = integers(sample.inputs[1]);
  ASSERT_EQ(offsets.size(), sample.rows.size() + 1);
  EXPECT_EQ(offsets.front(), 0);
  EXPECT_EQ(offsets.back(), static_cast<int64_t>(ids.size()));
  std::set<int64_t> lengths;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const int64_t length = offsets[i + 1] - offsets[i];
    lengths.insert(length);
    EXPECT_EQ(ids[static_cast<size_t>(offsets[i])], kClassToken) << sample.rows[i];
    EXPECT_EQ(ids[static_cast<size_t>(offsets[i + 1] - 1)], kSeparator) << sample.rows[i];
    EXPECT_NE(sample.rows[i].find(std::to_string(length) + " tokens"), std::string::npos) << sample.rows[i];
  }
  EXPECT_EQ(*lengths.begin(), 3);
  EXPECT_EQ(*lengths.rbegin(), 512);
  EXPECT_GE(lengths.size(), 6U);
  EXPECT_LT(ids.size(), 1500U) << "a processor computes them as well";
  EXPECT_GT(std::set(ids.begin(), ids.end()).size(), 600U) << "from all over the vocabulary";
  EXPECT_GE(*std::ranges::min_element(ids), 0);
  EXPECT_LT(*std::ranges::max_element(ids), tokenizer_->vocabulary_size());
}

TEST_F(GateSampleTest, is_the_same_each_time_and_another_for_another_limit) {
  const GateSample a = gate_sample(*tokenizer_, 512), b = gate_sample(*tokenizer_, 512);
  EXPECT_EQ(gate_rule(DType::kF16, a), gate_rule(DType::kF16, b));
  EXPECT_NE(gate_rule(DType::kF16, a), gate_rule(DType::kF16, gate_sample(*tokenizer_, 256)));
  // No more than 1,024 tokens of a sequence.
  EXPECT_EQ(gate_rule(DType::kF16, gate_sample(*tokenizer_, 1024)),
            gate_rule(DType::kF16, gate_sample(*tokenizer_, 8192)));
}

TEST_F(GateSampleTest, a_model_of_few_positions_gets_no_longer_sequence) {
  for (const int64_t positions : {2, 3, 4, 17}) {
    const std::vector<int64_t> offsets = integers(gate_sample(*tokenizer_, positions).inputs[1]);
    for (size_t i = 0; i + 1 < offsets.size(); ++i) EXPECT_LE(offsets[i + 1] - offsets[i], positions);
  }
}

}  // namespace
}  // namespace edge_infer
