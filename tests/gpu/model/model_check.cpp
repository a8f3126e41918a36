// A real model on a GPU: vectors against the golden ones, the same bits alone and in any batch and after any
// number of replays, several models and threads on one device. Needs $EDGE_INFER_TEST_MODEL, and runs in the
// source root.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "models/model_embedder.h"
#include "runtime/device/registry.h"
#include "tests/unit/models/real_model.h"

namespace edge_infer {
namespace {

using Ids = std::vector<int32_t>;
constexpr size_t kWidth = 384;

std::vector<Ids> golden_ids() {
  std::vector<Ids> ids;
  std::ifstream file("tests/data/texts/texts.ids.jsonl");
  for (std::string line; std::getline(file, line);)
    ids.push_back(nlohmann::json::parse(line)["ids"].get<Ids>());
  return ids;
}

struct Similarity {
  double lowest = 1, mean = 0;
};

Similarity cosines(std::span<const float> found, std::span<const double> wanted) {
  Similarity result;
  const size_t rows = found.size() / kWidth;
  for (size_t r = 0; r < rows; ++r) {
    double dot = 0, a = 0, b = 0;
    for (size_t i = r * kWidth; i < (r + 1) * kWidth; ++i) {
      dot += static_cast<double>(found[i]) * wanted[i];
      a += static_cast<double>(found[i]) * static_cast<double>(found[i]);
      b += wanted[i] * wanted[i];
    }
    const double cosine = dot / std::sqrt(a * b);
    result.lowest = std::min(result.lowest, std::isfinite(cosine) ? cosine : -2);
    result.mean += cosine / static_cast<double>(rows);
  }
  return result;
}

class GpuModel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    reason_ = "";
    if (const auto device = open_device("cuda"); !device) reason_ = device.error().message;
    if (real_model().empty()) reason_ = "EDGE_INFER_TEST_MODEL names no model";
    ids_ = golden_ids();
  }
  void SetUp() override {
    if (!reason_.empty()) GTEST_SKIP() << reason_;
  }

  static std::unique_ptr<ModelEmbedder> open(const std::string& precision) {
    EmbedderOptions options;
    options.device = "cuda";
    options.precision = precision;
    auto embedder = ModelEmbedder::open(real_model(), options);
    EXPECT_TRUE(embedder) << embedder.error().message;
    if (!embedder) return nullptr;
    const Status prepared = (*embedder)->prepare();
    EXPECT_TRUE(prepared) << prepared.error().message;
    return prepared ? *std::move(embedder) : nullptr;
  }

  static std::vector<float> embed(const ModelEmbedder& e, std::span<const Ids> texts) {
    std::vector<std::span<const int32_t>> views(texts.begin(), texts.end());
    std::vector<float> out(texts.size() * kWidth, NAN);
    const Status status = e.embed_tokens(views, out);
    EXPECT_TRUE(status) << status.error().message;
    return out;
  }

  // Of each text alone.
  static std::vector<float> alone(const ModelEmbedder& e) {
    std::vector<float> all;
    for (const Ids& text : ids_) {
      const std::vector<float> v = embed(e, std::span(&text, 1));
      all.insert(all.end(), v.begin(), v.end());
    }
    return all;
  }

  static void check_parity(const std::string& precision, double lowest) {
    const auto e = open(precision);
    ASSERT_NE(e, nullptr);
    const std::vector<double> golden = golden_vectors();
    const Similarity together = cosines(embed(*e, ids_), golden);
    std::printf("%s: lowest cosine %.7f, mean %.7f over %zu texts\n", precision.c_str(), together.lowest,
                together.mean, ids_.size());
    EXPECT_GE(together.lowest, lowest);
  }

  static std::string reason_;
  static std::vector<Ids> ids_;
};
std::string GpuModel::reason_;
std::vector<Ids> GpuModel::ids_;

TEST_F(GpuModel, fp16_gives_the_golden_vectors) {
  check_parity("fp16", 0.9999);
}
TEST_F(GpuModel, bf16_gives_the_golden_vectors) {
  check_parity("bf16", 0.9995);
}
TEST_F(GpuModel, fp32_gives_the_golden_vectors) {
  check_parity("fp32", 0.999998);
}

TEST_F(GpuModel, bits_do_not_depend_on_the_batch) {
  const auto e = open("fp16");
  ASSERT_NE(e, nullptr);
  const std::vector<float> single = alone(*e);
  EXPECT_EQ(single, embed(*e, ids_)) << "all in one call";
  std::mt19937 random(5);
  std::vector<size_t> order(ids_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round < 20; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    const size_t count = 1 + random() % 200;
    std::vector<Ids> batch;
    for (size_t i = 0; i < count; ++i) batch.push_back(ids_[order[i]]);
    const std::vector<float> found = embed(*e, batch);
    for (size_t i = 0; i < count; ++i)
      ASSERT_TRUE(std::equal(found.begin() + static_cast<std::ptrdiff_t>(i * kWidth),
                             found.begin() + static_cast<std::ptrdiff_t>((i + 1) * kWidth),
                             single.begin() + static_cast<std::ptrdiff_t>(order[i] * kWidth)))
          << "text " << order[i] << " in a batch of " << count;
  }
}

TEST_F(GpuModel, every_length_is_served_by_the_same_kernels) {
  const auto e = open("fp16");
  ASSERT_NE(e, nullptr);
  std::map<std::string, int> before;
  for (const auto& entry : e->module().entries())
    for (const KernelRef& kernel : entry->program->program().kernels) ++before[kernel.name];
  std::vector<Ids> texts;
  for (int32_t length = 1; length <= e->max_length(); ++length) {
    Ids text(static_cast<size_t>(length));
    for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<int32_t>((i * 31 + 101) % 29'000);
    texts.push_back(std::move(text));
  }
  const std::vector<float> together = embed(*e, texts);
  for (size_t t = 0; t < texts.size(); ++t) {
    const std::vector<float> one = embed(*e, std::span(&texts[t], 1));
    for (const float v : one) ASSERT_TRUE(std::isfinite(v)) << texts[t].size();
    ASSERT_TRUE(
        std::equal(one.begin(), one.end(), together.begin() + static_cast<std::ptrdiff_t>(t * kWidth)))
        << texts[t].size();
  }
  std::map<std::string, int> after;
  for (const auto& entry : e->module().entries())
    for (const KernelRef& kernel : entry->program->program().kernels) ++after[kernel.name];
  EXPECT_EQ(before, after);
}

TEST_F(GpuModel, replays_with_changing_batches_repeat_their_bits) {
  const auto e = open("fp16");
  ASSERT_NE(e, nullptr);
  constexpr size_t kSets = 64, kReplays = 10'000;
  std::mt19937 random(9);
  std::vector<std::vector<Ids>> sets;
  std::vector<std::vector<float>> wanted;
  for (size_t s = 0; s < kSets; ++s) {
    std::vector<Ids> set;
    for (size_t i = 0, count = 1 + random() % 4; i < count; ++i) set.push_back(ids_[random() % ids_.size()]);
    wanted.push_back(embed(*e, set));
    sets.push_back(std::move(set));
  }
  size_t wrong = 0;
  for (size_t r = 0; r < kReplays; ++r) {
    const size_t s = random() % kSets;
    wrong += embed(*e, sets[s]) != wanted[s];
  }
  EXPECT_EQ(wrong, 0U) << "of " << kReplays;
}

TEST_F(GpuModel, two_models_and_four_threads_share_the_device) {
  const auto half = open("fp16"), brain = open("bf16");
  ASSERT_NE(half, nullptr);
  ASSERT_NE(brain, nullptr);
  const std::vector<Ids> some(ids_.begin(), ids_.begin() + 100);
  const std::vector<float> a = embed(*half, some), b = embed(*brain, some);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const ModelEmbedder& e = t % 2 == 0 ? *half : *brain;
      for (int i = 0; i < 50; ++i) wrong += embed(e, some) != (t % 2 == 0 ? a : b);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

// Texts as the command line gives them, through the tokenizer, in bulk and one by one.
TEST_F(GpuModel, texts_in_bulk_are_those_one_by_one) {
  const auto e = open("fp16");
  ASSERT_NE(e, nullptr);
  std::vector<std::string> texts = golden_texts();
  texts.resize(300);
  const auto bulk = e->embed(texts, "", nullptr);
  ASSERT_TRUE(bulk) << bulk.error().message;
  for (size_t i = 0; i < texts.size(); i += 7) {
    const auto one = e->embed(std::span(&texts[i], 1), "", nullptr);
    ASSERT_TRUE(one);
    ASSERT_TRUE(std::equal(one->begin(), one->end(), bulk->begin() + static_cast<std::ptrdiff_t>(i * kWidth)))
        << i;
  }
}

}  // namespace
}  // namespace edge_infer
