// Prompts of a model: which one stands in front of a text, and what a model cannot do with one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "models/embedder.h"
#include "tests/unit/models/real_model.h"

namespace edge_infer {
namespace {
namespace fs = std::filesystem;

// The real model with prompts, a default among them.
class Prompts : public testing::Test {
 protected:
  void SetUp() override {
    if (real_model().empty()) GTEST_SKIP() << "EDGE_INFER_TEST_MODEL is not set";
    dir_ = fs::path(testing::TempDir()) / ("edge_infer_prompts_" + std::to_string(::getpid()));
    fs::create_directories(dir_);
    for (const auto& entry : fs::directory_iterator(real_model()))
      if (entry.is_regular_file() && entry.path().filename() != "config_sentence_transformers.json")
        fs::create_symlink(fs::absolute(entry.path()), dir_ / entry.path().filename());
    put("1_Pooling/config.json", R"({"word_embedding_dimension":384,"pooling_mode_mean_tokens":true})");
    put("2_Normalize/config.json", "{}");
    put("config_sentence_transformers.json",
        R"({"prompts":{"query":"query: ","document":""},"default_prompt_name":"query"})");
  }
  void TearDown() override { fs::remove_all(dir_); }

  void put(const std::string& name, std::string_view content) const {
    fs::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name) << content;
  }
  std::unique_ptr<Embedder> open() const {
    EmbedderOptions options;
    options.eager = true;
    options.device = "cpu";
    options.cache_dir = dir_ / "cache";
    auto opened = Embedder::open(dir_.native(), options);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? *std::move(opened) : nullptr;
  }

  fs::path dir_;
};

TEST_F(Prompts, without_a_name_the_default_holds_and_an_empty_name_is_none) {
  const auto embedder = open();
  ASSERT_NE(embedder, nullptr);
  EXPECT_EQ(*embedder->prompt(std::nullopt), "query: ");
  EXPECT_EQ(*embedder->prompt("query"), "query: ");
  EXPECT_EQ(*embedder->prompt("document"), "");
  EXPECT_EQ(*embedder->prompt(""), "");
  const auto unknown = embedder->prompt("passage");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_NE(unknown.error().message.find(R"("document", "query")"), std::string::npos)
      << unknown.error().message;
}

TEST_F(Prompts, an_unsupported_one_is_refused_with_the_file_that_asks_for_it) {
  put("1_Pooling/config.json",
      R"({"word_embedding_dimension":384,"pooling_mode_mean_tokens":true,"include_prompt":false})");
  const auto embedder = open();
  ASSERT_NE(embedder, nullptr);
  const std::string text = "Harbour gate";
  EXPECT_TRUE(embedder->embed(std::span(&text, 1), ""));
  for (const auto& refused :
       {embedder->embed(std::span(&text, 1), "query: "), embedder->embed_query(text, "query: ")}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    for (const char* part : {"1_Pooling/config.json", "include_prompt", "not supported"})
      EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace edge_infer
