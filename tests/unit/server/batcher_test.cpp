#include "apps/server/batcher.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace edge_infer::testing
