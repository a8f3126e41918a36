// Models with compiled kernels: nothing is compiled twice, and a text's bits are its own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <random>

#include "tests/unit/compiled_model/small_model.h"
#include "tests/unit/models/real_model.h"

namespace edge_infer::test {
namespace {

class CompiledModel : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (real_model().empty()) return;
    root_ = std::filesystem::path(testing::TempDir()) / fmt::format("edge_compiled_{}", ::getpid());
    write_small_model(small(), real_model());
  }
  static void TearDownTestSuite() {
    if (!root_.empty()) std::filesystem::remove_all(root_);
  }
  void SetUp() override {
    if (real_model().empty()) GTEST_SKIP() << "EDGE_INFER_TEST_MODEL is not set";
  }
  static std::filesystem::path small() { return root_ / "small"; }
  // Shared by the tests, so that each kernel is compiled once.
  static std::filesystem::path cache() { return root_ / "cache"; }
  static std::filesystem::path fresh_cache() {
    return root_ / testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  static inline std::filesystem::path root_;
};

struct Made {
  size_t entries;
  std::set<std::string> kernels;
  int64_t compiled;
  friend bool operator==(const Made&, const Made&) = default;
};
Made made(const ModelEmbedder& model) {
  return {model.module().entries().size(), kernels_of(model), model.cache()->stats().compiled};
}

// All lengths at batch 1, then random pairs of batch and length.
void call_many_sizes(const ModelEmbedder& model, size_t step, int pairs, size_t most_tokens) {
  for (size_t length = 1; length <= 512; length += step) vectors_of(model, {some_ids(length, 1)});
  std::mt19937 random(2);
  for (int i = 0; i < pairs; ++i) {
    const size_t length = 1 + random() % 512;
    const size_t batch = 1 + random() % std::max<size_t>(1, most_tokens / length);
    vectors_of(model, std::vector(batch, some_ids(length, static_cast<unsigned>(i))));
  }
}

TEST_F(CompiledModel, no_length_and_no_batch_adds_an_entry_or_a_kernel) {
  const auto model = open_model(small(), fresh_cache(), {.max_length = 512});
  ASSERT_NE(model, nullptr);
  const Made before = made(*model);
  EXPECT_EQ(before.entries, 1U);
  EXPECT_GT(before.compiled, 0);
  call_many_sizes(*model, 1, 200, 4096);
  EXPECT_EQ(made(*model), before);
}

TEST_F(CompiledModel, the_real_one_has_few_kernels_and_sizes_add_none) {
  const auto model = open_model(real_model(), fresh_cache(), {.max_length = 512});
  ASSERT_NE(model, nullptr);
  const Made before = made(*model);
  EXPECT_LE(before.kernels.size(), 14U);
  EXPECT_EQ(before.compiled, static_cast<int64_t>(before.kernels.size()));
  RecordProperty("kernels", static_cast<int>(before.kernels.size()));
  call_many_sizes(*model, 37, 6, 1024);
  EXPECT_EQ(made(*model), before);
}

TEST_F(CompiledModel, a_second_opening_compiles_nothing_and_gives_the_same_bits) {
  const auto first = open_model(small(), fresh_cache());
  ASSERT_NE(first, nullptr);
  const std::vector<float> vectors = sample_vectors(*first);
  const Made before = made(*first);
  // Not prepared: the stored entry answers the first call.
  const auto second = open_model(small(), fresh_cache(), {}, false);
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(second->is_compiled());
  EXPECT_EQ(sample_vectors(*second), vectors);
  EXPECT_EQ(made(*second), before);
}

#if !defined(EDGE_INFER_SANITIZED)
TEST_F(CompiledModel, no_mapping_is_writable_and_executable) {
  const auto model = open_model(small(), cache());
  ASSERT_NE(model, nullptr);
  sample_vectors(*model);
  std::ifstream maps("/proc/self/maps");
  size_t executable = 0;
  for (std::string line; std::getline(maps, line);) {
    const std::string rights = line.substr(line.find(' ') + 1, 4);
    executable += rights[2] == 'x' && line.find('/') == std::string::npos;
    EXPECT_FALSE(rights[1] == 'w' && rights[2] == 'x') << line;
  }
  EXPECT_GT(executable, 1U) << "the compiled code (and [vdso]) must be among the mappings";
}
#endif

// Sizes on both sides of the bound between the two forms of the program.
std::vector<std::vector<int32_t>> mixed_texts(size_t count) {
  std::vector<std::vector<int32_t>> texts;
  std::mt19937 random(9);
  for (size_t i = 0; i < count; ++i)
    texts.push_back(some_ids(i % 2 == 0 ? 1 + random() % 20 : 1 + random() % 200, static_cast<unsigned>(i)));
  return texts;
}

void expect_own_bits(const std::filesystem::path& dir, const std::filesystem::path& cache, size_t count) {
  const std::vector<std::vector<int32_t>> texts = mixed_texts(count);
  std::vector<std::vector<float>> alone;
  const auto single = open_model(dir, cache, {.threads = 1});
  ASSERT_NE(single, nullptr);
  for (const auto& text : texts) alone.push_back(vectors_of(*single, {text}));
  const size_t width = alone[0].size();
  std::mt19937 random(11);
  for (const int threads : {1, 2, 3, 16}) {
    const auto model = open_model(dir, cache, {.threads = threads});
    ASSERT_NE(model, nullptr);
    for (size_t i = 0; i < texts.size(); ++i)
      ASSERT_EQ(vectors_of(*model, {texts[i]}), alone[i])
          << "text of " << texts[i].size() << " tokens alone, " << threads << " workers";
    std::vector<size_t> order(texts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::shuffle(order, random);
    for (size_t first = 0; first < order.size();) {
      const size_t n = std::min(order.size() - first, size_t{1} + random() % 12);
      std::vector<std::vector<int32_t>> batch;
      for (size_t i = 0; i < n; ++i) batch.push_back(texts[order[first + i]]);
      const std::vector<float> vectors = vectors_of(*model, batch);
      for (size_t i = 0; i < n; ++i)
        ASSERT_TRUE(std::ranges::equal(std::span(vectors).subspan(i * width, width), alone[order[first + i]]))
            << "text of " << batch[i].size() << " tokens in a batch of " << n << ", " << threads
            << " workers";
      first += n;
    }
  }
}

TEST_F(CompiledModel, small_vectors_do_not_depend_on_batch_order_or_workers) {
  expect_own_bits(small(), cache(), 60);
}

TEST_F(CompiledModel, real_vectors_do_not_depend_on_batch_order_or_workers) {
  expect_own_bits(real_model(), cache(), 16);
}

// Where both forms hold a product, two workers and few rows take the second.
TEST_F(CompiledModel, few_rows_a_worker_take_the_second_form) {
  const auto model = open_model(real_model(), cache());
  ASSERT_NE(model, nullptr);
  const Program& program = model->module().entries().front()->program->program();
  const auto runs = [&](int64_t rows, int64_t workers) {
    std::set<std::string> conditions;
    for (const Phase& phase : program.phases) {
      std::map<std::string, int64_t, std::less<>> values;
      for (const Symbol& s : program.symbols) values.emplace(s.name, 1);
      values.insert_or_assign("T", rows);
      values.insert_or_assign(kWorkersSymbol, workers);
      if (phase.when.evaluate(values).value_or(0) != 0) conditions.insert(phase.when.str());
    }
    EXPECT_EQ(conditions.size(), 1U) << rows << " rows, " << workers << " workers";
    return conditions.empty() ? std::string() : *conditions.begin();
  };
  EXPECT_EQ(runs(8, 1), runs(400, 1));
  EXPECT_EQ(runs(400, 2), runs(400, 1));
  EXPECT_NE(runs(8, 2), runs(8, 1));
  EXPECT_NE(runs(200, 16), runs(200, 1));
}

TEST_F(CompiledModel, is_within_2e_6_of_the_float64_vectors) {
  const auto model = open_model(real_model(), cache());
  ASSERT_NE(model, nullptr);
  const std::vector<std::string> all = golden_texts();
  const std::vector<double> golden = golden_vectors();
  const auto width = static_cast<size_t>(model->dimensions());
  ASSERT_EQ(golden.size(), all.size() * width);
  constexpr size_t kStride = 7;
  std::vector<std::string> texts;
  for (size_t i = 0; i < all.size(); i += kStride) texts.push_back(all[i]);
  const auto vectors = model->embed(texts, "", nullptr);
  ASSERT_TRUE(vectors) << vectors.error().message;
  double worst = 0;
  for (size_t i = 0; i < vectors->size(); ++i)
    worst = std::max(worst, std::fabs((*vectors)[i] - golden[i / width * kStride * width + i % width]));
  EXPECT_LE(worst, 2e-6);
  RecordProperty("max_abs_diff", fmt::format("{:.3g}", worst));
}

}  // namespace
}  // namespace edge_infer::test
