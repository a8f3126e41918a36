// When graphs are made: as programs that a device binds come to need them, or all of them in prepare().
#include <algorithm>
#include <thread>

#include "tests/unit/cuda_device/sample.h"

namespace edge_infer::cuda {
namespace {

class ModeTest : public CudaTest {
 protected:
  // As the compiler binds programs.
  void bind() {
    device_ = open_loaded();
    auto bound = static_cast<const Device&>(*device_).bind(sample_program(), constants_);
    ASSERT_TRUE(bound) << bound.error().message;
    program_ = *std::move(bound);
  }
  void check(const std::vector<int64_t>& lengths) {
    SampleCall call(lengths);
    const auto context = program_->make_context();
    const Status status = program_->run(*context, call.inputs(), call.outputs(), 1);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(call.out, expected(call));
  }
  CudaProgramStatistics statistics() const { return static_cast<const CudaProgram&>(*program_).statistics(); }

  SampleConstants constants_;
  std::shared_ptr<const CudaDevice> device_;
  std::unique_ptr<Executable> program_;
};

TEST_F(ModeTest, by_default_the_second_call_of_a_class_makes_its_graph) {
  bind();
  // Memory is there, so that the first call finds it.
  EXPECT_EQ(statistics().executions, 1U);
  EXPECT_GT(statistics().device_bytes, 0U);
  EXPECT_EQ(statistics().counts.graphs, 0U);
  check({7});
  EXPECT_EQ(statistics().counts.graphs, 0U);
  EXPECT_EQ(statistics().counts.launches, 4U);
  EXPECT_EQ(statistics().counts.replays, 0U);
  check({9});  // of the same class
  EXPECT_EQ(statistics().counts.graphs, 1U);
  EXPECT_EQ(statistics().counts.launches, 4U);
  EXPECT_EQ(statistics().counts.replays, 1U);
  check({300});  // of another one
  EXPECT_EQ(statistics().counts.graphs, 1U);
  EXPECT_EQ(statistics().counts.launches, 8U);
  check({301});
  check({8});
  EXPECT_EQ(statistics().counts.graphs, 2U);
  EXPECT_EQ(statistics().counts.replays, 3U);
}

TEST_F(ModeTest, prepared_no_call_makes_a_graph_or_takes_memory) {
  bind();
  ASSERT_TRUE(program_->prepare());
  const CudaProgramStatistics prepared = statistics();
  EXPECT_EQ(prepared.executions, 2U);
  EXPECT_GT(prepared.counts.graphs, 2U);
  EXPECT_EQ(prepared.counts.graphs % 2, 0U);
  const int allocations = fake::state().allocations;
  size_t calls = 0;
  for (const std::vector<int64_t>& lengths :
       {std::vector<int64_t>{1}, {100}, {1, 1, 1, 1, 1}, {300}, std::vector<int64_t>(60, 8), {700}, {2048}}) {
    check(lengths);
    ++calls;
  }
  EXPECT_EQ(statistics().counts.graphs, prepared.counts.graphs);
  EXPECT_EQ(statistics().counts.launches, 0U);
  EXPECT_EQ(statistics().counts.replays, calls);
  EXPECT_EQ(fake::state().allocations, allocations);
  EXPECT_EQ(fake::state().live_execs, static_cast<int>(prepared.counts.graphs));
  // Again it has nothing to do.
  ASSERT_TRUE(program_->prepare());
  EXPECT_EQ(statistics().counts.graphs, prepared.counts.graphs);
}

TEST_F(ModeTest, prepared_a_call_that_needs_larger_memory_makes_all_graphs_of_its_execution) {
  bind();
  ASSERT_TRUE(program_->prepare());
  const size_t each = statistics().counts.graphs / 2;
  check({3000});
  EXPECT_EQ(statistics().counts.growths, 1U);
  EXPECT_GE(statistics().counts.graphs, 3 * each);
  const size_t made = statistics().counts.graphs;
  for (const int64_t length : {1, 200, 1000, 4000}) check({length});
  EXPECT_EQ(statistics().counts.graphs, made);
  EXPECT_EQ(statistics().counts.launches, 0U);
}

TEST_F(ModeTest, default_growth_makes_no_graph_before_it_is_needed) {
  bind();
  check({3000});
  check({1});
  EXPECT_EQ(statistics().counts.growths, 1U);
  EXPECT_EQ(statistics().counts.graphs, 0U);
}

TEST_F(ModeTest, prepares_one_execution_where_memory_for_two_is_not_there) {
  bind();
  fake::state().memory_bytes = fake::state().device_bytes + 1000;
  ASSERT_TRUE(program_->prepare());
  EXPECT_EQ(statistics().executions, 1U);
  check({5});
  EXPECT_EQ(statistics().counts.launches, 0U);
}

TEST_F(ModeTest, a_device_that_is_lost_prepares_nothing) {
  bind();
  fake::state().fail_launch = 1;
  SampleCall call({3});
  const auto context = program_->make_context();
  EXPECT_FALSE(program_->run(*context, call.inputs(), call.outputs(), 1));
  const Status status = program_->prepare();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kDeviceLost);
}

TEST_F(ModeTest, calls_beside_prepare_are_right) {
  bind();
  std::thread caller([this] {
    for (int i = 0; i < 20; ++i) check({3 + i, 2});
  });
  EXPECT_TRUE(program_->prepare());
  caller.join();
  check({4});
  const CudaProgramStatistics now = statistics();
  EXPECT_EQ(now.counts.replays + now.counts.launches / 4, 21U);
}

}  // namespace
}  // namespace edge_infer::cuda
