// The real model end to end, through the library: parity, invariance, limits.
#include "models/embedder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <random>
#include <thread>

#include "tests/unit/models/real_model.h"

namespace edge_infer {
namespace {

#if defined(EDGE_INFER_SANITIZED)
constexpr size_t kStride = 40;  // sanitizers are slow: every 40th text
#else
constexpr size_t kStride = 1;
#endif
constexpr size_t kWidth = 384;

class RealModel : public testing::Test {
 protected:
  void SetUp() override {
    if (real_model().empty()) GTEST_SKIP() << "EDGE_INFER_TEST_MODEL is not set";
    cache_ = cache_folder();
    auto opened = open({});
    ASSERT_TRUE(opened) << opened.error().message;
    embedder_ = *std::move(opened);
    const std::vector<std::string> all = golden_texts();
    ASSERT_EQ(all.size(), 1000u);
    for (size_t i = 0; i < all.size(); i += kStride) texts_.push_back(all[i]);
  }
  void TearDown() override { embedder_.reset(); }
  // One for all tests, so that kernels are compiled once.
  static void TearDownTestSuite() { std::filesystem::remove_all(cache_folder()); }
  static std::filesystem::path cache_folder() {
    return std::filesystem::path(testing::TempDir()) / ("edge_infer_models_" + std::to_string(::getpid()));
  }

  Result<std::unique_ptr<Embedder>> open(EmbedderOptions options) {
    options.cache_dir = cache_;
    auto opened = Embedder::open(real_model(), options);
    // Bits change once, when the compiled kernels take over: not in the middle of a test.
    if (opened)
      if (const Status compiled = (*opened)->prepare(); !compiled) ADD_FAILURE() << compiled.error().message;
    return opened;
  }
  std::vector<float> embed(const std::vector<std::string>& texts) {
    auto vectors = embedder_->embed(texts, "", nullptr);
    EXPECT_TRUE(vectors) << vectors.error().message;
    return vectors ? *vectors : std::vector<float>{};
  }

  std::filesystem::path cache_;
  std::unique_ptr<Embedder> embedder_;
  std::vector<std::string> texts_;
};

TEST_F(RealModel, is_within_2e_6_of_the_float64_vectors) {
  const std::vector<double> golden = golden_vectors();
  ASSERT_EQ(golden.size(), 1000 * kWidth);
  const std::vector<float> vectors = embed(texts_);
  ASSERT_EQ(vectors.size(), texts_.size() * kWidth);
  double worst = 0;
  for (size_t i = 0; i < texts_.size(); ++i)
    for (size_t d = 0; d < kWidth; ++d)
      worst = std::max(
          worst, std::abs(static_cast<double>(vectors[i * kWidth + d]) - golden[i * kStride * kWidth + d]));
  EXPECT_LE(worst, 2e-6);
  RecordProperty("max_abs_diff", std::to_string(worst));
}

TEST_F(RealModel, gives_the_golden_token_ids) {
  std::ifstream file("tests/data/texts/texts.ids.jsonl");
  std::vector<nlohmann::json> golden;
  for (std::string line; std::getline(file, line);) golden.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(golden.size(), 1000u);
  const std::vector<std::string> all = golden_texts();
  Encoding encoding;
  for (size_t i = 0; i < all.size(); ++i) {
    embedder_->tokenizer().encode(all[i], embedder_->max_length(), encoding);
    ASSERT_EQ(encoding.ids, golden[i]["ids"].get<std::vector<int32_t>>()) << golden[i]["id"];
    EXPECT_EQ(encoding.truncated, golden[i]["truncated"].get<bool>());
    EXPECT_EQ(encoding.tokens, golden[i]["tokens_full"].get<int64_t>());
  }
}

// A text's bits are the same alone, in any batch, in any order, with any number of threads.
TEST_F(RealModel, vectors_do_not_depend_on_batch_order_or_threads) {
  std::vector<std::string> some;
  for (size_t i = 0; i < texts_.size(); i += std::max<size_t>(1, texts_.size() / 120))
    some.push_back(texts_[i]);
  std::vector<float> alone;
  for (const std::string& text : some) {
    const std::vector<float> v = embed({text});
    alone.insert(alone.end(), v.begin(), v.end());
  }
  std::mt19937 random(11);
  for (const int threads : {1, 2, 3}) {
    auto opened = open({.threads = threads});
    ASSERT_TRUE(opened);
    std::vector<size_t> order(some.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    for (size_t first = 0; first < order.size();) {
      const size_t count = std::min(order.size() - first, size_t{1} + random() % 40);
      std::vector<std::string> batch;
      for (size_t i = 0; i < count; ++i) batch.push_back(some[order[first + i]]);
      auto vectors = (*opened)->embed(batch, "", nullptr);
      ASSERT_TRUE(vectors);
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(
            std::memcmp(vectors->data() + i * kWidth, alone.data() + order[first + i] * kWidth, kWidth * 4),
            0)
            << "text " << order[first + i] << ", threads " << threads;
      first += count;
    }
  }
}

TEST_F(RealModel, every_length_up_to_the_limit_is_served_by_one_entry) {
  std::vector<int32_t> ids(256);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(1000 + i * 17);
  std::vector<float> out(kWidth);
  for (size_t length = 1; length <= 256; length += kStride > 1 ? 51 : 1) {
    const std::span<const int32_t> text = std::span(ids).first(length);
    ASSERT_TRUE(embedder_->embed_tokens(std::span(&text, 1), out));
    double norm = 0;
    for (const float v : out) norm += static_cast<double>(v) * v;
    EXPECT_NEAR(norm, 1, 1e-5) << "length " << length;
  }
}

TEST_F(RealModel, refuses_wrong_tokens_before_it_runs) {
  std::vector<float> out(kWidth);
  const auto message = [&](std::vector<int32_t> ids) {
    const std::span<const int32_t> text = ids;
    const Status status = embedder_->embed_tokens(std::span(&text, 1), out);
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(message({}), "text 0 has no tokens");
  EXPECT_EQ(message({101, 30522}), "text 0 has token id 30522, expected 0..30521");
  EXPECT_EQ(message({-1}), "text 0 has token id -1, expected 0..30521");
  EXPECT_EQ(message(std::vector<int32_t>(257, 5)), "text 0 has 257 tokens, expected at most 256");
}

TEST_F(RealModel, reports_truncation_and_unknown_prompts) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "harbour ";
  std::vector<Encoding> encodings;
  ASSERT_TRUE(embedder_->embed(std::span(&text, 1), "", &encodings));
  EXPECT_TRUE(encodings[0].truncated);
  EXPECT_EQ(encodings[0].ids.size(), 256u);
  EXPECT_EQ(encodings[0].tokens, 402);
  EXPECT_EQ(embedder_->prompt("query").error().code, ErrorCode::kNotFound);
}

TEST_F(RealModel, many_threads_get_the_same_bits) {
  const std::vector<std::string> some(texts_.begin(), texts_.begin() + 12);
  const std::vector<float> expected = embed(some);
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < (kStride > 1 ? 1 : 5); ++round) {
        auto vectors = embedder_->embed(some, "", nullptr);
        if (!vectors || *vectors != expected) ++wrong;
      }
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST_F(RealModel, works_without_a_writable_cache_and_from_a_damaged_one) {
  const std::vector<float> expected = embed({"Harbour gate"});
  embedder_.reset();  // what is mapped is not cut short: files are replaced by rename
  auto damaged = [&](auto change) {
    for (const auto& entry : std::filesystem::directory_iterator(cache_)) change(entry.path());
    auto opened = open({});
    ASSERT_TRUE(opened) << opened.error().message;
    const std::string text = "Harbour gate";
    auto vectors = (*opened)->embed(std::span(&text, 1), "", nullptr);
    ASSERT_TRUE(vectors);
    EXPECT_EQ(*vectors, expected);
  };
  damaged([](const std::filesystem::path& file) {
    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  });
  damaged([](const std::filesystem::path& file) {
    std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(static_cast<std::streamoff>(std::filesystem::file_size(file) / 2));
    f.put('\x5a');
  });
  EmbedderOptions nowhere;
  nowhere.cache_dir = "/proc/edge-infer";
  auto opened = Embedder::open(real_model(), nowhere);
  ASSERT_TRUE(opened) << opened.error().message;
}

TEST_F(RealModel, fingerprint_is_stable_and_names_the_space) {
  auto again = open({});
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->space().fingerprint, embedder_->space().fingerprint);
  EXPECT_EQ(embedder_->space().dimensions, 384);
  EXPECT_EQ(embedder_->space().fingerprint.size(), 32u);
}

#if !defined(EDGE_INFER_SANITIZED)
long resident_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::strtol(line.c_str() + 6, nullptr, 10);
  return 0;
}

// The full sweep (10,000 small calls, 300 large) is tests/bench/memory_bench.cpp; this is its short form.
TEST_F(RealModel, memory_stays_flat) {
  std::mt19937 random(3);
  std::vector<int32_t> ids(256);
  for (int32_t& id : ids) id = static_cast<int32_t>(1000 + random() % 20000);
  std::vector<float> out(kWidth * 64);
  const auto call = [&](size_t count, size_t longest) {
    std::vector<std::span<const int32_t>> texts;
    for (size_t i = 0; i < count; ++i) texts.push_back(std::span(ids).first(1 + random() % longest));
    ASSERT_TRUE(embedder_->embed_tokens(texts, std::span(out).first(count * kWidth)));
  };
  for (int i = 0; i < 3; ++i) call(64, 256);  // the largest call of the test
  const long before = resident_kb();
  for (int i = 0; i < 300; ++i) call(1, 64);
  for (int i = 0; i < 8; ++i) call(1 + random() % 64, 256);
  EXPECT_LE(resident_kb(), before + before / 50);
}
#endif

}  // namespace
}  // namespace edge_infer
