// prompt_name of the C interface: NULL is the model's default prompt, "" none.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "edge_infer.h"
#include "edge_infer.hpp"

namespace {
namespace fs = std::filesystem;

TEST(LibraryPrompts, null_is_the_default_and_empty_is_none) {
  const char* real = std::getenv("EDGE_INFER_TEST_MODEL");
  if (real == nullptr) GTEST_SKIP() << "EDGE_INFER_TEST_MODEL is not set";
  const fs::path dir =
      fs::path(testing::TempDir()) / ("edge_infer_library_prompts_" + std::to_string(::getpid()));
  fs::create_directories(dir);
  for (const auto& entry : fs::directory_iterator(real))
    if (entry.path().filename() != "config_sentence_transformers.json")
      fs::create_symlink(fs::absolute(entry.path()), dir / entry.path().filename());
  std::ofstream(dir / "config_sentence_transformers.json")
      << R"({"prompts":{"query":"find this: "},"default_prompt_name":"query"})";
  edge_infer_options options = EDGE_INFER_OPTIONS_INIT;
  options.flags = EDGE_INFER_EAGER;
  options.device = "cpu";
  {
    const edge_infer::Model prompted(dir.c_str(), &options), plain(real, &options);
    const auto with = plain.embed("find this: harbour"), without = plain.embed("harbour");
    ASSERT_NE(with, without);
    EXPECT_EQ(prompted.embed("harbour"), with);
    EXPECT_EQ(prompted.embed("harbour", "query"), with);
    EXPECT_EQ(prompted.embed("harbour", ""), without);
    EXPECT_EQ(prompted.embed_query("harbour"), with);
    EXPECT_EQ(prompted.embed_query("harbour", ""), without);
  }
  fs::remove_all(dir);
}

}  // namespace
