// Which device answers single queries, with devices whose times are set by the test.
#include "models/query_route.h"

#include <gtest/gtest.h>

#include "tests/unit/packs/fake_module.h"

namespace edge_infer::test {
namespace {

Target target_named(std::string name, bool splits_rows) {
  Target target;
  target.name = std::move(name);
  target.splits_rows = target.has_prebuilt = splits_rows;
  return target;
}

// An accelerator that takes `device_ns` for any short text, and a processor that takes so much a token.
struct Machine {
  explicit Machine(KernelCache* kept = nullptr) : cache(kept) {}

  std::unique_ptr<QueryRoute> open() {
    QueryRouteOptions options;
    options.identity = identity;
    options.target = "fake";
    options.machine = machine;
    options.cache = cache;
    options.open_host = [this]() -> Result<std::unique_ptr<Module>> {
      ++opened;
      if (!host_opens) return fail(ErrorCode::kResourceExhausted, "no room for it");
      return std::make_unique<Module>(std::make_unique<FakeBuilder>(host_passes));
    };
    options.make_runner = [this](Module& host) {
      return std::make_unique<PackRunner>(host, host_target, CallSettings(),
                                          PackRunnerOptions{"model", kWidth, 1, 0});
    };
    options.device_answers = [this] { return device_answers; };
    options.time_call = [this](const PackRunner& runner, int64_t tokens) -> Result<int64_t> {
      order += &runner == &device ? 'd' : 'h';
      if (static_cast<int64_t>(order.size()) == lose_at) device_answers = false;
      if (static_cast<int64_t>(order.size()) == fail_at)
        return fail(ErrorCode::kDeviceLost, "the accelerator is gone");
      // Noise only ever adds time.
      const int64_t noise = static_cast<int64_t>(order.size() % 7) * 1000;
      return (&runner == &device ? device_ns : tokens * host_ns_a_token) + noise;
    };
    return std::make_unique<QueryRoute>(device, std::move(options));
  }

  KernelCache* cache;
  std::string identity = "graph", machine = "cpu;gpu;driver=1";
  Passes device_passes, host_passes;
  Target device_target = target_named("fake", false), host_target = target_named("host", true);
  Module module{std::make_unique<FakeBuilder>(device_passes)};
  PackRunner device{module, device_target, {}, {"model", kWidth, 1, 0}};
  int opened = 0;
  bool host_opens = true, device_answers = true;
  int64_t fail_at = 0, lose_at = 0;
  int64_t device_ns = 200'000, host_ns_a_token = 4000;  // the processor is faster up to 45 tokens
  std::string order;
};

constexpr std::chrono::milliseconds kNow{0};

TEST(HostTokens, are_those_up_to_which_the_processor_is_clearly_faster) {
  EXPECT_EQ(host_tokens(std::vector<QueryTime>{{16, 100, 80}, {128, 100, 200}}), 16);
  EXPECT_EQ(host_tokens(std::vector<QueryTime>{{16, 100, 95}, {128, 100, 50}}), 0);
  EXPECT_EQ(host_tokens(std::vector<QueryTime>{{16, 100, 50}, {128, 100, 60}}), 128);
  EXPECT_EQ(host_tokens({}), 0);
}

TEST(QueryRoute, measures_both_interleaved_and_chooses_by_tokens) {
  Machine m;
  const auto route = m.open();
  EXPECT_EQ(route->choose(1), nullptr) << "before anything is measured";
  EXPECT_EQ(m.opened, 0) << "no work inside of open()";
  ASSERT_TRUE(route->settle(kNow));
  EXPECT_EQ(route->threshold(), 32);
  EXPECT_NE(route->choose(32), nullptr);
  EXPECT_NE(route->choose(1), nullptr);
  EXPECT_EQ(route->choose(33), nullptr);
  ASSERT_EQ(route->times().size(), std::size(QueryRoute::kLengths));
  EXPECT_EQ(m.order.size(), std::size(QueryRoute::kLengths) * 2 * (QueryRoute::kRounds + 1));
  for (size_t i = 0; i < m.order.size(); ++i) ASSERT_EQ(m.order[i], i % 2 == 0 ? 'd' : 'h');
  // A chosen runner works, on the processor's module.
  const std::vector<int64_t> lengths = {20};
  Texts texts(lengths);
  ASSERT_TRUE(route->choose(20)->run(texts.spans, texts.out));
  EXPECT_EQ(texts.out, texts.expected);
  EXPECT_EQ(m.host_passes.lengths.size(), 1U);
  EXPECT_TRUE(m.device_passes.lengths.empty());
}

TEST(QueryRoute, is_measured_once_and_kept) {
  const auto cache = KernelCache::open({.dir = {}, .in_memory = true});
  {
    Machine first(cache.get());
    ASSERT_TRUE(first.open()->settle(kNow));
  }
  Machine second(cache.get());
  const auto route = second.open();
  EXPECT_EQ(route->threshold(), 32) << "at once";
  EXPECT_EQ(second.opened, 1);
  EXPECT_TRUE(route->settle(kNow));
  EXPECT_TRUE(second.order.empty()) << "nothing is measured again";
  EXPECT_EQ(route->times().size(), std::size(QueryRoute::kLengths));
}

TEST(QueryRoute, that_leaves_queries_to_the_accelerator_opens_no_processor_s_side_again) {
  const auto cache = KernelCache::open({.dir = {}, .in_memory = true});
  for (int process = 0; process < 2; ++process) {
    Machine m(cache.get());
    m.device_ns = 10'000;
    const auto route = m.open();
    ASSERT_TRUE(route->settle(kNow));
    EXPECT_EQ(route->threshold(), 0);
    EXPECT_EQ(route->choose(1), nullptr);
    EXPECT_EQ(m.opened, process == 0 ? 1 : 0);
  }
}

TEST(QueryRoute, is_measured_anew_where_anything_that_decides_it_differs) {
  const auto cache = KernelCache::open({.dir = {}, .in_memory = true});
  Machine first(cache.get());
  ASSERT_TRUE(first.open()->settle(kNow));
  for (const bool other_driver : {true, false}) {
    Machine m(cache.get());
    (other_driver ? m.machine : m.identity) += "2";
    const auto route = m.open();
    EXPECT_EQ(route->threshold(), 0);
    ASSERT_TRUE(route->settle(kNow));
    EXPECT_FALSE(m.order.empty());
    EXPECT_EQ(route->threshold(), 32);
  }
}

TEST(QueryRoute, a_device_that_is_lost_while_it_is_measured_does_not_matter) {
  const auto cache = KernelCache::open({.dir = {}, .in_memory = true});
  for (const int64_t at : {1, 2, 50}) {
    Machine failing(cache.get());
    failing.fail_at = at;
    const auto route = failing.open();
    EXPECT_TRUE(route->settle(kNow));
    EXPECT_EQ(route->choose(1), nullptr);
    EXPECT_TRUE(route->settle(kNow)) << "it is not tried again";
    // The calls go on, but it is the processor that answers them.
    Machine lost(cache.get());
    lost.lose_at = at;
    const auto other = lost.open();
    EXPECT_TRUE(other->settle(kNow));
    EXPECT_EQ(other->choose(1), nullptr);
  }
  // Nothing was kept of it.
  Machine next(cache.get());
  EXPECT_TRUE(next.open()->times().empty());
}

TEST(QueryRoute, without_the_processor_s_side_queries_stay_on_the_accelerator) {
  Machine m;
  m.host_opens = false;
  const auto route = m.open();
  EXPECT_TRUE(route->settle(kNow));
  EXPECT_EQ(route->choose(1), nullptr);
  EXPECT_TRUE(m.order.empty());
}

}  // namespace
}  // namespace edge_infer::test
