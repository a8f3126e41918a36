#include "apps/server/answer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

namespace edge_infer {
namespace {

std::string base64_of(std::string_view bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  std::string out;
  append_base64(values, out);
  return out;
}

TEST(Answer, floats_read_back_as_the_same_bits) {
  std::mt19937 random(7);
  std::vector<float> values = {0.f, -0.f, 1.f, -1.17549435e-38f, 1e-45f, 3.40282347e+38f, 0.1f, 16777216.f};
  while (values.size() < 20'000) {
    const auto bits = static_cast<uint32_t>(random());
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (std::isfinite(value)) values.push_back(value);
  }
  std::string out = "[";
  append_floats(values, out);
  out += "]";
  const auto parsed = nlohmann::json::parse(out).get<std::vector<double>>();
  ASSERT_EQ(parsed.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(parsed[i]);
    EXPECT_EQ(std::memcmp(&value, &values[i], sizeof value), 0) << values[i];
  }
}

TEST(Answer, base64_of_known_bytes) {
  EXPECT_EQ(base64_of("abcd"), "YWJjZA==");
  EXPECT_EQ(base64_of("abcdefgh"), "YWJjZGVmZ2g=");
  EXPECT_EQ(base64_of("abcdefghijkl"), "YWJjZGVmZ2hpamts");
  EXPECT_EQ(base64_of(""), "");
}

TEST(Answer, slices_have_unit_length) {
  const std::vector<float> rows = {3, 4, 12, 0, 0, 5};
  EXPECT_EQ(slice_rows(rows, 3, 2), (std::vector<float>{0.6f, 0.8f, 0, 0}));
}

TEST(Answer, normalizing_keeps_the_bits_of_what_is_normalized) {
  std::vector<float> rows = {0.6f, 0.8f, 3.f, 4.f, 0.f, 0.f};
  normalize_rows(rows, 2);
  EXPECT_EQ(rows, (std::vector<float>{0.6f, 0.8f, 0.6f, 0.8f, 0.f, 0.f}));
}

TEST(Answer, finds_what_is_not_finite) {
  EXPECT_TRUE(all_finite(std::vector<float>{1, 2}));
  EXPECT_FALSE(all_finite(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_FALSE(all_finite(std::vector<float>{-std::numeric_limits<float>::infinity()}));
}

TEST(Answer, openai_shape_with_truncation) {
  const std::vector<float> vectors = {1, 0, 0, 1};
  const std::vector<TruncatedInput> truncated = {{1, 64, 900}};
  EmbeddingAnswer answer{"a \"model\"", vectors, 2, false, 66, truncated};
  const auto json = nlohmann::json::parse(openai_answer(answer));
  EXPECT_EQ(json["object"], "list");
  EXPECT_EQ(json["model"], "a \"model\"");
  EXPECT_EQ(json["data"][1]["index"], 1);
  EXPECT_EQ(json["data"][1]["object"], "embedding");
  EXPECT_EQ(json["data"][1]["embedding"], (std::vector<float>{0, 1}));
  EXPECT_EQ(json["usage"]["prompt_tokens"], 66);
  EXPECT_EQ(json["usage"]["total_tokens"], 66);
  EXPECT_EQ(json["edge"]["truncated"][0]["index"], 1);
  EXPECT_EQ(json["edge"]["truncated"][0]["tokens_total"], 900);
  EXPECT_EQ(tei_answer(std::span(vectors).first(2), 2), "[[1,0]]");
}

}  // namespace
}  // namespace edge_infer
