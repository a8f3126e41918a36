// Texts in packs on the fake driver: what the driver is told to run, and what happens when its memory ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <thread>

#include "models/pack_runner.h"
#include "tests/unit/cuda_device/sample.h"

namespace edge_infer::cuda {
namespace {

class SampleBuilder final : public EntryBuilder {
 public:
  SampleBuilder(std::shared_ptr<const CudaDevice> device, std::string name)
      : device_(std::move(device)), name_(std::move(name)) {}
  Result<std::shared_ptr<const Entry>> build(std::span<const TensorView>, const CallSettings&) override {
    auto entry = std::make_shared<Entry>();
    EDGE_INFER_ASSIGN(entry->program, device_->bind(sample_program({.name = name_}), constants_));
    return entry;
  }

 private:
  std::shared_ptr<const CudaDevice> device_;
  std::string name_;
  SampleConstants constants_;
};

// A model on the device: a module with the sample's program, and packs through it.
struct Model {
  Model(std::shared_ptr<const CudaDevice> on, std::string name)
      : device(std::move(on)),
        module(std::make_unique<SampleBuilder>(device, name)),
        runner(module, device->target(), {}, {name, kWidth, 2, 0}) {}
  const CudaProgram& program() const {
    return dynamic_cast<const CudaProgram&>(*module.entries().front()->program);
  }
  std::shared_ptr<const CudaDevice> device;
  Module module;
  PackRunner runner;
};

// Texts and the vectors that the processor's executor makes of them, each text alone.
struct Texts {
  explicit Texts(const std::vector<int64_t>& lengths) {
    unsigned seed = 0;
    std::map<int64_t, SampleCall> calls;  // texts of one length are equal
    for (const int64_t length : lengths) {
      auto [at, fresh] = calls.try_emplace(length, std::vector<int64_t>{length}, kWidth, ++seed);
      if (fresh) at->second.out = cuda::expected(at->second);
      ids.push_back(at->second.ids);
      expected.insert(expected.end(), at->second.out.begin(), at->second.out.end());
    }
    for (const auto& text : ids) spans.emplace_back(text);
    out.assign(expected.size(), -1);
  }
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::span<const int32_t>> spans;
  std::vector<float> expected, out;
};

std::vector<int64_t> equal_lengths(size_t count, int64_t length) {
  return std::vector<int64_t>(count, length);
}

class Packs : public CudaTest {
 protected:
  // Records tokens a pass when it runs: the counts are overwritten by the next call.
  void SetUp() override {
    CudaTest::SetUp();
    fake::Kernel& gather = fake::state().kernels.at("gather");
    gather.body = [this, body = gather.body](const fake::Launch& launch) {
      tokens_.push_back(launch.pointer<const int64_t>(0)[0]);
      body(launch);
    };
  }
  void TearDown() override { fake::state().kernels.clear(); }
  std::vector<int64_t> sorted() {
    const std::lock_guard lock(fake::lock());
    std::vector<int64_t> tokens = tokens_;
    std::ranges::sort(tokens);
    return tokens;
  }
  std::vector<int64_t> tokens_;  // under the fake's lock
};

TEST_F(Packs, bulk_work_reaches_the_driver_in_passes_of_the_device_s_size) {
  Model model(open_loaded(), "sample");
  ASSERT_EQ(model.device->target().pack_tokens, 16'384);
  Texts first({1});
  ASSERT_TRUE(model.runner.run(first.spans, first.out));
  ASSERT_TRUE(model.program().prepare());
  const auto before = model.program().statistics().counts;
  tokens_.clear();
  Texts texts(equal_lengths(600, 128));  // 76,800 tokens
  ASSERT_TRUE(model.runner.run(texts.spans, texts.out));
  EXPECT_EQ(texts.out, texts.expected);
  EXPECT_EQ(sorted(), (std::vector<int64_t>{11'264, 16'384, 16'384, 16'384, 16'384}));
  // One replay a pass: nothing is launched by itself.
  EXPECT_EQ(model.program().statistics().counts.replays, before.replays + 5U);
  EXPECT_EQ(model.program().statistics().counts.launches, before.launches);
}

TEST_F(Packs, shrink_until_they_fit_below_the_memory_limit) {
  const Texts plain(equal_lengths(64, 256));
  // Bytes of temporaries a token: two rows of kWidth floats.
  for (const size_t limit : {size_t{3} << 20, size_t{1} << 20, size_t{400} << 10}) {
    tokens_.clear();
    Model model(open_loaded({.memory_limit = limit}), "sample");
    Texts texts = plain;
    for (size_t i = 0; i < texts.ids.size(); ++i) texts.spans[i] = texts.ids[i];
    const Status status = model.runner.run(texts.spans, texts.out);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(texts.out, texts.expected);
    EXPECT_LE(model.device->bytes_in_use(), limit);
    const std::vector<int64_t> tokens = sorted();
    EXPECT_EQ(std::accumulate(tokens.begin(), tokens.end(), int64_t{0}), 64 * 256);
    EXPECT_EQ(tokens.back() == 16'384, limit == size_t{3} << 20) << tokens.back();
    // Remembered: the next call begins with what fits.
    EXPECT_EQ(model.runner.pack_tokens() == 16'384, limit == size_t{3} << 20);
  }
}

TEST_F(Packs, a_single_text_that_does_not_fit_is_an_error_with_device_bytes_and_limit) {
  Model model(open_loaded({.memory_limit = 400 << 10}), "sample");
  Texts small(equal_lengths(3, 100));
  ASSERT_TRUE(model.runner.run(small.spans, small.out));
  Texts large({100, 16'000, 100});
  const Status status = model.runner.run(large.spans, large.out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
  const std::string& message = status.error().message;
  for (const char* part :
       {"\"sample\": a text of 16000 tokens does not fit into memory: Fake GPU has no ",
        "bytes for the temporaries of \"sample\" for T = 16000, B = ", "are in use and the limit is 409600"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  ASSERT_TRUE(model.runner.run(small.spans, small.out));
  EXPECT_EQ(small.out, small.expected);
}

TEST_F(Packs, the_free_memory_is_named_where_there_is_no_limit) {
  Model model(open_loaded(), "sample");
  Texts small({10});
  ASSERT_TRUE(model.runner.run(small.spans, small.out));
  fake::state().memory_bytes = fake::state().device_bytes + 1000;
  Texts large({16'000});
  const Status status = model.runner.run(large.spans, large.out);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("CUDA_ERROR_OUT_OF_MEMORY (out of memory); "), std::string::npos)
      << status.error().message;
}

TEST_F(Packs, pinned_memory_that_ends_shrinks_packs_too) {
  Model model(open_loaded(), "sample");
  Texts first({10});
  ASSERT_TRUE(model.runner.run(first.spans, first.out));
  fake::state().pinned_limit = fake::state().pinned_bytes + (40 << 10);
  Texts texts(equal_lengths(64, 256));
  const Status status = model.runner.run(texts.spans, texts.out);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(texts.out, texts.expected);
  EXPECT_LT(model.runner.pack_tokens(), 16'384);
}

TEST_F(Packs, two_models_share_a_device_that_is_too_small_for_both) {
  const auto device = open_loaded({.memory_limit = size_t{1900} << 10});
  Model a(device, "a"), b(device, "b");
  Texts texts(equal_lengths(64, 256)), single({12'000});
  // `a` takes what a full pack needs.
  ASSERT_TRUE(a.runner.run(texts.spans, texts.out));
  EXPECT_EQ(a.runner.pack_tokens(), 16'384);
  // `b` makes do with smaller packs and leaves `a` its memory.
  const size_t held = a.program().statistics().device_bytes;
  texts.out.assign(texts.out.size(), -1);
  ASSERT_TRUE(b.runner.run(texts.spans, texts.out));
  EXPECT_EQ(texts.out, texts.expected);
  EXPECT_LT(b.runner.pack_tokens(), 16'384);
  EXPECT_EQ(a.program().statistics().device_bytes, held);
  // A text that cannot be split gets what `a` only keeps for later.
  const Status status = b.runner.run(single.spans, single.out);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(single.out, single.expected);
  EXPECT_EQ(a.program().statistics().device_bytes, 0U);
  // And `a` gets memory again, for itself.
  texts.out.assign(texts.out.size(), -1);
  ASSERT_TRUE(a.runner.run(texts.spans, texts.out));
  EXPECT_EQ(texts.out, texts.expected);
  EXPECT_LE(device->bytes_in_use(), size_t{1900} << 10);
}

TEST_F(Packs, two_models_at_once_on_a_device_that_is_too_small_for_both) {
  for (const size_t limit : {size_t{1800} << 10, size_t{320} << 10}) {
    const auto device = open_loaded({.memory_limit = limit});
    Model a(device, "a"), b(device, "b");
    const Texts plain(equal_lengths(100, 200));
    for (const Model* model : {&a, &b}) {  // weights are there
      Texts first({1});
      ASSERT_TRUE(model->runner.run(first.spans, first.out));
    }
    std::atomic<int> right{0};
    std::vector<std::jthread> callers;
    for (Model* model : {&a, &b, &a, &b})
      callers.emplace_back([&, model] {
        Texts texts = plain;
        for (size_t i = 0; i < texts.ids.size(); ++i) texts.spans[i] = texts.ids[i];
        for (int round = 0; round < 3; ++round) {
          texts.out.assign(texts.out.size(), -1);
          const Status status = model->runner.run(texts.spans, texts.out);
          EXPECT_TRUE(status) << status.error().message;
          right += texts.out == texts.expected ? 1 : 0;
        }
      });
    callers.clear();
    EXPECT_EQ(right, 12);
    EXPECT_LE(device->bytes_in_use(), limit);
  }
}

}  // namespace
}  // namespace edge_infer::cuda
