// Measuring candidates and choosing among them.
#include <gtest/gtest.h>

#include <atomic>

#include "compiler/loop/parse.h"
#include "compiler/tune/measure.h"

namespace edge_infer {
namespace {

std::atomic<int> calls{0};

void sum_rows(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  ++calls;
  const auto* in = static_cast<const float*>(args->buffers[0]);
  auto* out = static_cast<float*>(args->buffers[1]);
  for (int64_t m = m0; m < m1; ++m) out[m] = in[m] + static_cast<float>(args->integers[0]);
}
void sum_rows_slowly(const KernelArgs* args, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  for (int i = 0; i < 50; ++i) sum_rows(args, m0, m1, n0, n1, scratch);
}

loop::LoopNest nest() {
  auto parsed = loop::parse_nest(R"(nest @add class f32.k1 symbols(T in 1..65536 hint 8)
    (b0: in f32[T], b1: out f32[T]) {
  for m:T work { b1[m] = b0[m] + size(T):f32 }
})");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? *std::move(parsed) : loop::LoopNest();
}

TEST(Measure, times_every_candidate_over_the_whole_domain) {
  calls = 0;
  const LoadedKernel candidates[] = {{sum_rows, 0}, {sum_rows_slowly, 128}};
  const int64_t symbols[] = {20'000};
  const auto best = measure_candidates(nest(), candidates, symbols, 0, {.rounds = 5});
  ASSERT_TRUE(best) << best.error().message;
  ASSERT_EQ(best->size(), 2u);
  EXPECT_EQ(calls, 5 * 51);
  EXPECT_GT((*best)[1], (*best)[0]);
  EXPECT_EQ(choose_candidate(*best), 0u);
}

TEST(Measure, stops_when_it_is_cancelled_and_refuses_sizes_without_value) {
  const LoadedKernel candidates[] = {{sum_rows, 0}};
  const int64_t symbols[] = {16}, huge[] = {int64_t{1} << 50};
  EXPECT_EQ(
      measure_candidates(nest(), candidates, symbols, 0, {.is_cancelled = [] { return true; }}).error().code,
      ErrorCode::kCancelled);
  EXPECT_EQ(measure_candidates(nest(), candidates, huge, 0, {}).error().code, ErrorCode::kResourceExhausted);
}

TEST(Measure, the_default_stays_unless_another_is_clearly_faster) {
  EXPECT_EQ(choose_candidate(std::vector<double>{}), 0u);
  EXPECT_EQ(choose_candidate(std::vector<double>{100, 98, 99}), 0u);
  EXPECT_EQ(choose_candidate(std::vector<double>{100, 90, 80}), 2u);
  EXPECT_EQ(choose_candidate(std::vector<double>{100, 80, 80}), 1u);  // the first of equals
}

}  // namespace
}  // namespace edge_infer
