// Precision bf16 of the real model: quality, invariance, and what "auto" is. The class is the one that this
// process gets; test_models_bf16_emulated runs the same with $EDGE_INFER_ISA=avx2.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "models/hub/model_directory.h"
#include "models/model_embedder.h"
#include "runtime/base/cpu.h"
#include "tests/unit/models/real_model.h"

namespace edge_infer {
namespace {

#if defined(EDGE_INFER_SANITIZED)
constexpr size_t kStride = 40;  // sanitizers are slow: every 40th text
#else
constexpr size_t kStride = 1;
#endif
constexpr size_t kWidth = 384;

class Precision : public testing::Test {
 protected:
  void SetUp() override {
    if (real_model().empty()) GTEST_SKIP() << "EDGE_INFER_TEST_MODEL is not set";
    cache_ = std::filesystem::path(testing::TempDir()) / ("edge_infer_bf16_" + std::to_string(::getpid()));
    const std::vector<std::string> all = golden_texts();
    ASSERT_EQ(all.size(), 1000u);
    for (size_t i = 0; i < all.size(); i += kStride) texts_.push_back(all[i]);
  }
  void TearDown() override { std::filesystem::remove_all(cache_); }

  std::unique_ptr<ModelEmbedder> open(EmbedderOptions options) {
    options.cache_dir = cache_;
    auto opened = ModelEmbedder::open(real_model(), options);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? *std::move(opened) : nullptr;
  }
  std::vector<float> embed(const ModelEmbedder& e, const std::vector<std::string>& texts) {
    auto vectors = e.embed(texts, "", nullptr);
    EXPECT_TRUE(vectors) << vectors.error().message;
    return vectors ? *vectors : std::vector<float>{};
  }
  static std::string serving_class(const ModelEmbedder& e) {
    return e.module().entries().back()->program->program().accumulation_class;
  }

  std::filesystem::path cache_;
  std::vector<std::string> texts_;
};

TEST_F(Precision, bf16_keeps_the_direction_of_the_float64_vectors) {
  const auto embedder = open({.precision = "bf16"});
  ASSERT_NE(embedder, nullptr);
  // Answered at once, by what is more accurate.
  const std::vector<float> early = embed(*embedder, {texts_[0]});
  ASSERT_EQ(early.size(), kWidth);
  ASSERT_TRUE(embedder->prepare());
  EXPECT_TRUE(serving_class(*embedder).starts_with("bf16.")) << serving_class(*embedder);
  const std::vector<double> golden = golden_vectors();
  const std::vector<float> vectors = embed(*embedder, texts_);
  ASSERT_EQ(vectors.size(), texts_.size() * kWidth);
  double least = 1, greatest = 0;
  for (size_t i = 0; i < texts_.size(); ++i) {
    double dot = 0, own = 0, other = 0;
    for (size_t d = 0; d < kWidth; ++d) {
      const double x = vectors[i * kWidth + d], y = golden[i * kStride * kWidth + d];
      dot += x * y;
      own += x * x;
      other += y * y;
      greatest = std::max(greatest, std::abs(x - y));
    }
    least = std::min(least, dot / std::sqrt(own * other));
  }
  EXPECT_GE(least, 0.9995);
  // Rounding shows: these are not the vectors of fp32.
  EXPECT_GT(greatest, 1e-5);
  std::printf("class %s: least cosine %.6f, greatest difference %.2e\n", serving_class(*embedder).c_str(),
              least, greatest);
}

TEST_F(Precision, bf16_bits_do_not_depend_on_batch_or_threads) {
  std::vector<std::string> some;
  for (size_t i = 0; i < texts_.size(); i += std::max<size_t>(1, texts_.size() / 80))
    some.push_back(texts_[i]);
  const auto one = open({.precision = "bf16", .threads = 1});
  ASSERT_NE(one, nullptr);
  ASSERT_TRUE(one->prepare());
  std::vector<float> alone;
  for (const std::string& text : some) {
    const std::vector<float> v = embed(*one, {text});
    alone.insert(alone.end(), v.begin(), v.end());
  }
  for (const int threads : {1, 2, 3}) {
    const auto other = open({.precision = "bf16", .threads = threads});
    ASSERT_NE(other, nullptr);
    ASSERT_TRUE(other->prepare());
    for (const size_t batch : {1UL, 7UL, 80UL})
      for (size_t first = 0; first < some.size(); first += batch) {
        const size_t count = std::min(batch, some.size() - first);
        const std::vector<float> v =
            embed(*other, std::vector(some.begin() + static_cast<std::ptrdiff_t>(first),
                                      some.begin() + static_cast<std::ptrdiff_t>(first + count)));
        ASSERT_EQ(v.size(), count * kWidth);
        ASSERT_EQ(std::memcmp(v.data(), alone.data() + first * kWidth, v.size() * 4), 0)
            << "from text " << first << ", batch " << batch << ", threads " << threads;
      }
  }
}

TEST_F(Precision, bf16_is_judged_once_and_the_figures_are_kept) {
  PrecisionRecord first;
  for (int process = 0; process < 2; ++process) {
    const auto embedder = open({.precision = "bf16"});
    ASSERT_NE(embedder, nullptr);
    ASSERT_TRUE(embedder->prepare());
    const PrecisionRecord& record = embedder->module().entries().back()->precision;
    EXPECT_TRUE(record.named);
    EXPECT_EQ(record.served, DType::kBF16) << record.describe();
    ASSERT_EQ(record.tried.size(), 1U);
    EXPECT_GE(record.tried[0].lowest_cosine, 0.9995) << record.describe();
    EXPECT_LT(record.tried[0].lowest_cosine, 1) << "it was compared with other vectors";
    if (process == 1) {
      EXPECT_EQ(record.describe(), first.describe());
    }
    first = record;
  }
  size_t judged = 0;
  for (const CacheEvent& event : KernelCache::open({.dir = cache_})->events(10'000))
    judged += event.kind == "gate";
  EXPECT_EQ(judged, 1U);
}

TEST_F(Precision, entries_of_both_precisions_are_stored_apart) {
  for (const char* precision : {"fp32", "bf16", "fp32", "bf16"}) {
    const auto embedder = open({.precision = precision});
    ASSERT_NE(embedder, nullptr);
    ASSERT_TRUE(embedder->prepare());
    EXPECT_EQ(serving_class(*embedder).starts_with("bf16."), std::string_view(precision) == "bf16");
  }
}

TEST_F(Precision, auto_is_bf16_where_the_matrix_unit_is) {
  const auto embedder = open({.precision = "auto"});
  ASSERT_NE(embedder, nullptr);
  ASSERT_TRUE(embedder->prepare());
  EXPECT_EQ(serving_class(*embedder), request_amx() ? "bf16.amx32" : "f32.k1");
  const auto eager = open({.precision = "auto", .eager = true});
  ASSERT_NE(eager, nullptr);
  EXPECT_EQ(serving_class(*eager), "f32.k1");
}

TEST_F(Precision, unknown_names_are_refused) {
  const auto opened = ModelEmbedder::open(real_model(), {.precision = "fp8", .cache_dir = cache_});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("fp8"), std::string::npos);
}

}  // namespace
}  // namespace edge_infer
