#include "apps/server/batcher.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/unit/server/fake_embedder.h"

namespace edge_infer::testing {
namespace {

TEST(BatchingFor, a_processor_gets_1024_tokens_a_worker_in_one_forward) {
  FakeEmbedder embedder;
  embedder.max_tokens = 16'384;
  EXPECT_EQ(batching_for(embedder, 1).batch_tokens, 2048);
  EXPECT_EQ(batching_for(embedder, 8).batch_tokens, 8192);
  EXPECT_EQ(batching_for(embedder, 64).batch_tokens, 16'384);
  EXPECT_EQ(batching_for(embedder, 64).dispatchers, 1);
}

TEST(BatchingFor, an_accelerator_gets_batches_of_its_size_two_at_a_time) {
  FakeEmbedder embedder;
  embedder.max_tokens = embedder.bulk = 16'384;
  embedder.waiting = 2;
  EXPECT_EQ(batching_for(embedder, 1).batch_tokens, 16'384);
  EXPECT_EQ(batching_for(embedder, 1).dispatchers, 2);
}

TEST(Batcher, gives_an_accelerator_the_next_batch_while_it_computes_one) {
  FakeEmbedder embedder;
  embedder.waiting = 2;
  Metrics metrics;
  Batcher batcher(embedder, batching_for(embedder, 1), metrics);
  embedder.close_gate();
  std::atomic<int> done{0};
  for (int i = 0; i < 2; ++i) {
    auto job = std::make_shared<EmbedJob>();
    job->add_text(std::vector<int32_t>{kBegin, 20 + i, kEnd});
    job->done = [&done](const Status& status) { done += status ? 1 : 0; };
    ASSERT_TRUE(batcher.submit(job));
    embedder.wait_until_held(i + 1);
  }
  EXPECT_EQ(embedder.calls, 2);
  embedder.open_gate();
  batcher.stop();
  EXPECT_EQ(done, 2);
}

// A request of many batches goes on with the kernels that it began with; one that came after the change does
// not wait for it.
TEST(Batcher, serves_each_request_by_one_set_of_kernels) {
  FakeEmbedder embedder;
  embedder.change_kernels();
  Metrics metrics;
  BatcherOptions options;
  options.batch_tokens = 12;
  Batcher batcher(embedder, options, metrics);
  std::vector<int32_t> ended;
  std::mutex mutex;
  const auto submit = [&](int32_t id, int texts) {
    auto job = std::make_shared<EmbedJob>();
    for (int i = 0; i < texts; ++i) job->add_text(std::vector<int32_t>{kBegin, id, kEnd});
    job->done = [&, id](const Status& status) {
      const std::lock_guard lock(mutex);
      if (status) ended.push_back(id);
    };
    ASSERT_TRUE(batcher.submit(job));
  };
  embedder.close_gate();
  EntryPin* const before = embedder.pin().get();
  submit(20, 40);  // ten batches
  submit(21, 1);   // waits, without company until the gate opens
  embedder.wait_until_held();
  embedder.change_kernels();
  EntryPin* const after = embedder.pin().get();
  submit(22, 12);
  embedder.open_gate();
  for (bool all = false; !all; std::this_thread::yield()) {
    const std::lock_guard lock(mutex);
    all = ended.size() == 3;
  }
  batcher.stop();
  std::map<int32_t, std::set<EntryPin*>> pins;
  for (const auto& batch : embedder.batches)
    for (const int32_t id : batch.first_ids) pins[id].insert(batch.pin);
  EXPECT_EQ(pins[20], std::set{before});
  EXPECT_EQ(pins[22], std::set{after});
  EXPECT_EQ(pins[21].size(), 1u);
  EXPECT_EQ(ended.back(), 20);
}

}  // namespace
}  // namespace edge_infer::testing
