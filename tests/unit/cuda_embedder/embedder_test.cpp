// What an embedder does where there is a GPU: kernels are really compiled for it, by NVRTC where one is
// found, and the fake driver takes them without running them, so that its vectors are zeros.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "compiler/codegen/registry.h"
#include "tests/unit/compiled_model/small_model.h"
#include "tests/unit/cuda_device/fake/fake_cuda.h"

namespace edge_infer::test {
namespace {

namespace fs = std::filesystem;

class CudaEmbedder : public testing::Test {
 protected:
  void SetUp() override {
    const char* real = std::getenv("EDGE_INFER_TEST_MODEL");
    if (real == nullptr) GTEST_SKIP() << "EDGE_INFER_TEST_MODEL is not set";
    for (const char* target : {"cuda.sm_90a", "cpu.avx2"}) {
      const auto compiler = open_compiler(target);
      if (!compiler || !compiler->compiler->available()) GTEST_SKIP() << "nothing compiles for " << target;
    }
    cuda::fake::reset();
    cuda::fake::state().takes_any_code = true;
    cuda::fake::state().poison = 0;
    ::setenv("EDGE_INFER_LIBCUDA", EDGE_INFER_FAKE_CUDA, 1);
    if (fs::exists(folder_)) return;
    write_small_model(folder_ / "model", real);
    // Kernels are compiled once for all tests.
    ASSERT_TRUE(open("cuda")->prepare());
  }
  static void SetUpTestSuite() {
    folder_ = fs::temp_directory_path() / fmt::format("edge-infer-cuda-embedder-{}", ::getpid());
    fs::remove_all(folder_);
  }
  static void TearDownTestSuite() {
    ::unsetenv("EDGE_INFER_LIBCUDA");
    fs::remove_all(folder_);
  }
  std::unique_ptr<ModelEmbedder> open(const std::string& device, const std::string& precision = "",
                                      const std::string& mode = "default") {
    EmbedderOptions options;
    options.device = device;
    options.precision = precision;
    options.mode = mode;
    options.threads = 1;
    options.cache_dir = folder_ / "cache";
    auto model = ModelEmbedder::open(folder_ / "model", options);
    EXPECT_TRUE(model) << model.error().message;
    return model ? *std::move(model) : nullptr;
  }
  static void set_slow(bool slow) {
    const std::lock_guard lock(cuda::fake::lock());
    cuda::fake::state().before_replay = nullptr;
    if (slow)
      cuda::fake::state().before_replay = [] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  }
  static int replays() {
    const std::lock_guard lock(cuda::fake::lock());
    return cuda::fake::state().replays;
  }

  static inline fs::path folder_;
};

TEST_F(CudaEmbedder, queries_go_to_the_processor_where_it_was_measured_to_be_faster) {
  const std::string query = "where is the harbour";
  std::vector<float> on_processor;
  {
    const auto cpu = open("cpu");
    ASSERT_TRUE(cpu->prepare());
    on_processor = *cpu->embed_query(query, "");
  }
  // Whichever is faster here, with a GPU that is made slow: the same choice for good, and its vectors.
  set_slow(true);
  int64_t threshold = -1;
  for (const bool first : {true, false}) {
    const auto model = open("auto");
    ASSERT_NE(model->query_route(), nullptr);
    if (first) {
      ASSERT_TRUE(model->prepare());
    }
    const int before = replays();
    EXPECT_EQ(model->query_route()->times().size(), std::size(QueryRoute::kLengths));
    EXPECT_EQ(model->query_route()->threshold(), host_tokens(model->query_route()->times()));
    if (first) threshold = model->query_route()->threshold();
    EXPECT_EQ(model->query_route()->threshold(), threshold) << "a later process has it at once";
    const bool by_processor = threshold > 0;  // the query is shorter than all lengths measured
    const std::vector<float> zeros(kSmallWidth, 0);
    EXPECT_EQ(*model->embed_query(query, ""), by_processor ? on_processor : zeros);
    EXPECT_EQ(replays(), before + (by_processor ? 0 : 1));
    // Documents, and texts of any other call, are the accelerator's.
    EXPECT_EQ(*model->embed(std::span(&query, 1), "", nullptr), zeros);
    const int after = replays();
    ASSERT_TRUE(model->prepare());
    EXPECT_EQ(replays(), after) << "nothing is measured again";
  }
  // A device or a precision that is named answers everything.
  EXPECT_EQ(open("cuda")->query_route(), nullptr);
  EXPECT_EQ(open("auto", "fp16")->query_route(), nullptr);
  EXPECT_EQ(open("cpu")->query_route(), nullptr);
}

TEST_F(CudaEmbedder, bulk_work_goes_to_the_accelerator_in_large_packs) {
  const auto model = open("cuda", "", "reduce-overhead");  // so that a pass is a replay
  ASSERT_TRUE(model->prepare());
  EXPECT_EQ(model->bulk_tokens(), 16'384);
  EXPECT_EQ(model->waiting_calls(), 2);
  const std::vector<std::string> texts(300, "one two three four five six seven eight nine ten");  // 12 tokens
  std::vector<Encoding> encodings;
  const int before = replays();
  const auto vectors = model->embed(texts, "", &encodings);
  ASSERT_TRUE(vectors) << vectors.error().message;
  EXPECT_EQ(vectors->size(), 300 * kSmallWidth);
  int64_t tokens = 0;
  for (const Encoding& e : encodings) tokens += static_cast<int64_t>(e.ids.size());
  EXPECT_EQ(tokens, 3600);
  EXPECT_EQ(replays(), before + 1);
}

TEST_F(CudaEmbedder, a_stored_entry_outlives_a_device_without_room_for_it) {
  {
    const auto model = open("cuda");
    ASSERT_TRUE(model->prepare());
  }
  // The weights do not fit: the processor answers.
  const auto small = open("cuda:memory=1M");
  const std::string text = "hello";
  const auto vector = small->embed(std::span(&text, 1), "", nullptr);
  ASSERT_TRUE(vector) << vector.error().message;
  EXPECT_NE(*vector, std::vector<float>(kSmallWidth, 0));
  // With room the stored entry serves at once.
  const auto model = open("cuda");
  EXPECT_EQ(*model->embed(std::span(&text, 1), "", nullptr), std::vector<float>(kSmallWidth, 0));
}

}  // namespace
}  // namespace edge_infer::test
