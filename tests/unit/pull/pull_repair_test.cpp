// A pull of a model that is there already: what is damaged or missing comes again, what is intact stays.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/unit/pull/pull_fixture.h"

namespace edge_infer {
namespace {
namespace fs = std::filesystem;

ino_t inode_of(const fs::path& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

TEST_F(Pull, what_is_missing_or_damaged_is_fetched_again_and_only_that) {
  ASSERT_TRUE(pull("owner/repair"));
  const fs::path dir = folder("repair");
  const struct {
    const char* file;
    void (*damage)(const fs::path&);
  } rows[] = {
      {"model.safetensors", [](const fs::path& path) { fs::resize_file(path, 1000); }},
      {"model.safetensors",
       [](const fs::path& path) {
         std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
         file.seekp(500'000);
         file.put('!');
       }},
      {"tokenizer.json", [](const fs::path& path) { fs::remove(path); }},
      {"1_Pooling/config.json", [](const fs::path& path) { fs::remove_all(path.parent_path()); }},
      {"config.json",
       [](const fs::path& path) {
         fs::remove(path);
         fs::create_symlink("tokenizer.json", path);
       }},
      {"config.json",
       [](const fs::path& path) {
         fs::remove(path);
         fs::create_directory(path);
       }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.file);
    row.damage(dir / row.file);
    progress_ = {};
    const auto repaired = pull("owner/repair");
    ASSERT_TRUE(repaired) << repaired.error().message;
    EXPECT_FALSE(repaired->was_current);
    EXPECT_EQ(progress_.ended, std::vector<std::string>({row.file}));
    EXPECT_EQ(progress_.files, 1u);
    EXPECT_EQ(read(dir / "model.safetensors"), weights());
    EXPECT_EQ(read(dir / "config.json"), "{\"model_type\": \"bert\"}\n");
    EXPECT_EQ(read(dir / "tokenizer.json"), "{\"version\": \"1.0\"}\n");
    EXPECT_EQ(read(dir / "1_Pooling/config.json"), "{\"pooling_mode_mean_tokens\": true}\n");
    EXPECT_TRUE(pull("owner/repair")->was_current);
  }
  EXPECT_EQ(left_behind(), std::vector<std::string>({"owner--repair"}));
}

TEST_F(Pull, another_revision_keeps_the_files_that_are_the_same) {
  ASSERT_TRUE(pull("owner/plain"));
  const fs::path dir = folder("plain");
  const ino_t weights_inode = inode_of(dir / "model.safetensors");
  std::string manifest = read(dir / ".edge-infer-pull.json");
  const std::string revision = "0123456789abcdef0123456789abcdef01234567";
  manifest.replace(manifest.find(revision), revision.size(), std::string(40, 'a'));
  std::ofstream(dir / ".edge-infer-pull.json") << manifest;
  std::ofstream(dir / "config.json") << "{}";
  progress_ = {};
  const auto pulled = pull("owner/plain");
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_FALSE(pulled->was_current);
  EXPECT_EQ(progress_.ended, std::vector<std::string>({"config.json"}));
  EXPECT_EQ(inode_of(dir / "model.safetensors"), weights_inode);
  EXPECT_NE(read(dir / ".edge-infer-pull.json").find(revision), std::string::npos);
}

// What the hub did not give, the manifest remembers.
TEST_F(Pull, files_without_a_checksum_of_the_hub_are_repaired_too) {
  ASSERT_TRUE(pull("owner/bare"));
  EXPECT_TRUE(pull("owner/bare")->was_current);
  const fs::path path = folder("bare") / "model.safetensors";
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).put('!');
  progress_ = {};
  const auto repaired = pull("owner/bare");
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_EQ(progress_.ended, std::vector<std::string>({"model.safetensors"}));
  EXPECT_EQ(read(path), weights());
}

TEST_F(Pull, an_interrupted_repair_leaves_the_folder_and_goes_on) {
  ASSERT_TRUE(pull("owner/late-cut"));
  const fs::path path = folder("late-cut") / "model.safetensors";
  fs::resize_file(path, 1000);
  options_.retries = 0;
  EXPECT_FALSE(pull("owner/late-cut"));
  EXPECT_EQ(fs::file_size(path), 1000u);
  ASSERT_TRUE(pull("owner/late-cut"));
  EXPECT_EQ(progress_.resumed, 524288u);
  EXPECT_EQ(read(path), weights());
}

}  // namespace
}  // namespace edge_infer
