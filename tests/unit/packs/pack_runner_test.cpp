// Packs of an accelerator and of a processor: how texts are cut, how packs shrink and grow again, and what
// runs beside what. Passes wait for each other, never for a time: what does not overlap would wait for good,
// and fails after kPatience.
#include "models/pack_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>

#include "tests/unit/packs/fake_module.h"

namespace edge_infer::test {
namespace {

constexpr std::chrono::seconds kPatience{60};

Target accelerator(int64_t pack_tokens) {
  Target target;
  target.name = "fake";
  target.pack_tokens = pack_tokens;
  target.splits_rows = target.has_prebuilt = false;
  return target;
}

struct Runner {
  explicit Runner(Target t, int threads = 2, double pair_cost = 0)
      : target(std::move(t)),
        module(std::make_unique<FakeBuilder>(passes)),
        runner(module, target, {}, {"model", kWidth, threads, pair_cost}) {}
  Passes passes;
  Target target;
  Module module;
  PackRunner runner;
};

std::vector<int64_t> lengths_of(size_t count, int64_t length) {
  return std::vector<int64_t>(count, length);
}

TEST(CutPack, ends_before_the_text_that_exceeds_the_tokens) {
  const std::vector<int64_t> lengths = {5, 5, 5, 30, 1};
  const auto length = [&](size_t i) { return lengths[i]; };
  EXPECT_EQ(cut_pack(0, 5, length, {.tokens = 15}).count, 3U);
  EXPECT_EQ(cut_pack(0, 5, length, {.tokens = 14}).count, 2U);
  EXPECT_EQ(cut_pack(3, 5, length, {.tokens = 15}).count, 1U);
  EXPECT_EQ(cut_pack(3, 5, length, {.tokens = 15}).tokens, 30);
  EXPECT_EQ(cut_pack(0, 5, length, {.tokens = 1000}).count, 5U);
}

TEST(CutPack, counts_what_attention_costs_for_long_texts) {
  // 16,384 tokens of texts with 512 tokens are one pack; of longer ones fewer tokens are.
  const auto tokens = [](int64_t length, double pair) {
    return cut_pack(0, 4000, [&](size_t) { return length; }, {.tokens = 16'384, .pair = pair}).tokens;
  };
  EXPECT_EQ(tokens(512, 1.0 / 2304), 16'384);
  EXPECT_EQ(tokens(16, 1.0 / 2304), 16'384);
  EXPECT_EQ(tokens(2048, 1.0 / 2304), 10'240);  // 16,384 x (1 + 2/9) / (1 + 8/9)
  EXPECT_EQ(tokens(2048, 0), 16'384);
}

TEST(PackBudget, halves_when_refused_and_doubles_after_a_while) {
  PackBudget budget(1000);
  budget.refuse(1000);
  EXPECT_EQ(budget.tokens(), 500);
  budget.refuse(1000);  // a call beside it that began before
  EXPECT_EQ(budget.tokens(), 500);
  budget.refuse(500);
  EXPECT_EQ(budget.tokens(), 250);
  for (int64_t i = 1; i < PackBudget::kFirstPatience; ++i) budget.accept();
  EXPECT_EQ(budget.tokens(), 250);
  budget.accept();
  EXPECT_EQ(budget.tokens(), 500);
}

TEST(PackBudget, tries_a_larger_size_ever_less_often) {
  PackBudget budget(1000);
  budget.refuse(1000);
  for (int64_t patience = PackBudget::kFirstPatience; patience < 1000; patience *= 2) {
    for (int64_t i = 1; i < patience; ++i) budget.accept();
    EXPECT_EQ(budget.tokens(), 500);
    budget.accept();
    EXPECT_EQ(budget.tokens(), 1000);
    budget.refuse(1000);
    EXPECT_EQ(budget.tokens(), 500);
  }
}

TEST(PackRunner, feeds_an_accelerator_packs_of_its_size) {
  Runner r(accelerator(100));
  Texts texts(lengths_of(95, 10));
  ASSERT_TRUE(r.runner.run(texts.spans, texts.out));
  EXPECT_EQ(texts.out, texts.expected);
  EXPECT_EQ(r.passes.tokens(), (std::vector<int64_t>{50, 100, 100, 100, 100, 100, 100, 100, 100, 100}));
}

TEST(PackRunner, keeps_two_calls_in_flight) {
  Runner r(accelerator(100), 1);
  // Each pass waits until another one has begun, in pairs: one alone would wait for good.
  std::mutex mutex;
  std::condition_variable changed;
  size_t begun = 0;
  r.passes.before = [&](size_t) {
    std::unique_lock lock(mutex);
    const size_t mine = begun++;
    changed.notify_all();
    EXPECT_TRUE(changed.wait_for(lock, kPatience, [&] { return begun / 2 > mine / 2; }));
  };
  Texts texts(lengths_of(80, 10));
  ASSERT_TRUE(r.runner.run(texts.spans, texts.out));
  EXPECT_EQ(texts.out, texts.expected);
  EXPECT_EQ(r.passes.lengths.size(), 8U);
}

TEST(PackRunner, encodes_while_the_accelerator_computes) {
  for (const int threads : {1, 3}) {
    Runner r(accelerator(320), threads);
    Texts texts(lengths_of(320, 10));
    std::mutex mutex;
    std::condition_variable changed;
    size_t encoded = 0, passes = 0;
    // The last text is encoded only when the first pass runs, and that pass ends only when the last text is
    // encoded.
    r.passes.before = [&](size_t) {
      std::unique_lock lock(mutex);
      ++passes;
      changed.notify_all();
      EXPECT_TRUE(changed.wait_for(lock, kPatience, [&] { return encoded == 320; }));
    };
    const auto encode = [&](size_t i) -> Status {
      std::unique_lock lock(mutex);
      if (i == 319) {
        EXPECT_TRUE(changed.wait_for(lock, kPatience, [&] { return passes > 0; }));
      }
      ++encoded;
      changed.notify_all();
      return {};
    };
    const auto text = [&](size_t i) { return texts.spans[i]; };
    ASSERT_TRUE(r.runner.run_encoding(320, encode, text, texts.out));
    EXPECT_EQ(texts.out, texts.expected);
    EXPECT_EQ(r.passes.tokens(), lengths_of(10, 320));
  }
}

TEST(PackRunner, ends_with_the_first_error_of_an_encoder) {
  for (const bool splits_rows : {false, true}) {
    Target target = accelerator(50);
    target.splits_rows = splits_rows;
    Runner r(target);
    Texts texts(lengths_of(200, 10));
    const auto encode = [&](size_t i) -> Status {
      if (i == 150) return fail(ErrorCode::kInvalidArgument, "text {} is odd", i);
      return {};
    };
    const Status status =
        r.runner.run_encoding(200, encode, [&](size_t i) { return texts.spans[i]; }, texts.out);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "text 150 is odd");
  }
}

TEST(PackRunner, halves_packs_that_do_not_fit_and_remembers_it) {
  Runner r(accelerator(1600), 1);
  r.passes.room = 500;
  Texts texts(lengths_of(160, 10));
  ASSERT_TRUE(r.runner.run(texts.spans, texts.out));
  EXPECT_EQ(texts.out, texts.expected);
  EXPECT_EQ(r.runner.pack_tokens(), 400);
  EXPECT_EQ(r.passes.tokens(), lengths_of(4, 400));
  EXPECT_EQ(r.passes.refused, 2);
  ASSERT_TRUE(r.runner.run(texts.spans, texts.out));
  EXPECT_EQ(r.passes.refused, 2);
}

TEST(PackRunner, grows_again_when_the_memory_is_back) {
  Runner r(accelerator(100), 1);
  r.passes.room = 60;
  Texts texts(lengths_of(10, 10));
  ASSERT_TRUE(r.runner.run(texts.spans, texts.out));
  EXPECT_EQ(r.runner.pack_tokens(), 50);
  r.passes.room = 100;
  for (int64_t i = 0; i < PackBudget::kFirstPatience; ++i)
    ASSERT_TRUE(r.runner.run(std::span(texts.spans).first(1), std::span(texts.out).first(kWidth)));
  EXPECT_EQ(r.runner.pack_tokens(), 100);
}

TEST(PackRunner, goes_down_to_single_texts_and_names_the_one_that_does_not_fit) {
  Runner r(accelerator(1000), 2);
  r.passes.room = 100;
  const std::vector<int64_t> fits = {100, 90, 3, 100, 7, 99};
  Texts good(fits);
  ASSERT_TRUE(r.runner.run(good.spans, good.out));
  EXPECT_EQ(good.out, good.expected);
  const std::vector<int64_t> too_long = {100, 101, 3};
  Texts bad(too_long);
  const Status status = r.runner.run(bad.spans, bad.out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(status.error().message,
            "\"model\": a text of 101 tokens does not fit into memory: 101 tokens, room for 100");
  ASSERT_TRUE(r.runner.run(good.spans, good.out)) << "later calls are served";
}

TEST(PackRunner, shrinks_under_many_callers) {
  Runner r(accelerator(400), 2);
  r.passes.room = 150;
  std::vector<std::jthread> callers;
  std::atomic<int> right{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      Texts texts(lengths_of(200, 10));
      if (r.runner.run(texts.spans, texts.out) && texts.out == texts.expected) ++right;
    });
  callers.clear();
  EXPECT_EQ(right, 4);
}

TEST(PackRunner, gives_a_processor_a_pack_a_worker) {
  Target target = accelerator(100);
  target.splits_rows = true;
  Runner r(target, 2);
  Texts texts(lengths_of(95, 10));
  ASSERT_TRUE(r.runner.run(texts.spans, texts.out));
  EXPECT_EQ(texts.out, texts.expected);
  EXPECT_EQ(r.passes.lengths.size(), 10U);
  r.passes.room = 30;
  Texts again(lengths_of(95, 10));
  ASSERT_TRUE(r.runner.run(again.spans, again.out));
  EXPECT_EQ(again.out, again.expected);
}

}  // namespace
}  // namespace edge_infer::test
