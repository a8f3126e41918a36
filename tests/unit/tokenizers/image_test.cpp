#include "models/tokenizers/image.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "models/tokenizers/tokenizer.h"
#include "tests/unit/models_files/temporary_dir.h"
#include "tests/unit/tokenizers/small_tokenizer.h"

namespace edge_infer {
namespace {

using testing_support::small_tokenizer;
using testing_support::TemporaryDir;

constexpr const char* kText = "Hello, wörld! RUNNING 船 한글 a\xff [SEP] zebra";

std::vector<int32_t> ids_of(const Tokenizer& tokenizer) {
  Encoding out;
  tokenizer.encode(kText, 0, out);
  return out.ids;
}

struct Folder {
  TemporaryDir model, cache;
  TokenizerOptions options;
  Folder() {
    auto json = small_tokenizer();
    json["added_tokens"] = {{{"id", 2}, {"content", "[SEP]"}, {"normalized", false}, {"special", true}}};
    model.put("tokenizer.json", json.dump());
    options.cache_dir = cache.path();
  }
  Result<std::unique_ptr<Tokenizer>> load() const { return Tokenizer::load(model.path(), options); }
  std::vector<std::filesystem::path> images() const {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::directory_iterator(cache.path())) out.push_back(entry.path());
    return out;
  }
  std::string image() const { return *read_file(images().at(0), 1 << 28); }
};

// A new file each time: rewriting one in place makes some file systems flush it to the disk.
void replace_file(const std::filesystem::path& file, std::string_view content) {
  std::filesystem::remove(file);
  std::ofstream(file, std::ios::binary) << content;
}

TEST(TokenizerImage, gives_the_same_tokenizer) {
  const Folder folder;
  const auto parsed = folder.load();
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(folder.images().size(), 1u);
  const auto mapped = folder.load();
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_EQ(ids_of(**parsed), ids_of(**mapped));
  EXPECT_EQ((*parsed)->vocabulary_size(), (*mapped)->vocabulary_size());
  EXPECT_EQ((*parsed)->special_tokens(), (*mapped)->special_tokens());
  const std::string json = *read_file(folder.model.path() / "tokenizer.json", 1 << 20);
  const auto tables = TokenizerTables::map(folder.images()[0], image_key(json));
  ASSERT_TRUE(tables) << tables.error().message;
  EXPECT_TRUE(tables->is_mapped());
}

TEST(TokenizerImage, is_not_used_for_a_changed_file) {
  const Folder folder;
  ASSERT_TRUE(folder.load());
  auto json = small_tokenizer();
  json["model"]["vocab"]["zebra"] = 19;
  folder.model.put("tokenizer.json", json.dump());
  const auto changed = folder.load();
  ASSERT_TRUE(changed);
  EXPECT_EQ((*changed)->vocabulary_size(), 20);
  EXPECT_EQ(folder.images().size(), 2u);
}

TEST(TokenizerImage, is_made_anew_when_cut_or_changed_anywhere) {
  const Folder folder;
  const auto good = folder.load();
  ASSERT_TRUE(good);
  const auto expected = ids_of(**good);
  const std::string content = folder.image();
  const auto file = folder.images()[0];
  const auto key = image_key(*read_file(folder.model.path() / "tokenizer.json", 1 << 20));
  for (size_t at = 0; at < content.size(); at += at < 400 ? 1 : 9973) {
    std::string bad = content;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    replace_file(file, bad);
    EXPECT_FALSE(TokenizerTables::map(file, key)) << at;
  }
  for (size_t size = 0; size < content.size(); size += size < 400 ? 7 : 30'011) {
    replace_file(file, content.substr(0, size));
    EXPECT_FALSE(TokenizerTables::map(file, key)) << size;
  }
  const auto again = folder.load();
  ASSERT_TRUE(again);
  EXPECT_EQ(ids_of(**again), expected);
  EXPECT_EQ(folder.image(), content) << "the damaged image is replaced";
}

// Whoever can write the cache can also compute a checksum: bounds must hold all the same.
TEST(TokenizerImage, never_reads_out_of_bounds_with_a_forged_checksum) {
  const Folder folder;
  ASSERT_TRUE(folder.load());
  const std::string content = folder.image();
  const auto file = folder.images()[0];
  const auto key = image_key(*read_file(folder.model.path() / "tokenizer.json", 1 << 20));
  int accepted = 0;
  for (size_t at = 24; at < content.size(); at += at < 400 ? 3 : 4099) {
    for (const char value : {'\x7f', '\xff'}) {
      std::string bad = content;
      bad[at] = value;
      const uint64_t sum = XXH3_64bits(bad.data() + 24, bad.size() - 24);
      std::memcpy(bad.data() + 16, &sum, sizeof sum);
      replace_file(file, bad);
      const auto tables = TokenizerTables::map(file, key);
      if (!tables) continue;
      ++accepted;
      const auto tokenizer = folder.load();
      ASSERT_TRUE(tokenizer);
      for (const int32_t id : ids_of(**tokenizer)) {
        EXPECT_GE(id, 0);
        EXPECT_LT(id, (*tokenizer)->vocabulary_size());
      }
    }
  }
  EXPECT_GT(accepted, 0) << "the checksum's place is wrong in this test";
}

TEST(TokenizerImage, does_without_a_cache_that_cannot_be_written) {
  Folder folder;
  folder.cache.put("file", "x");
  folder.options.cache_dir = folder.cache.path() / "file" / "below";
  EXPECT_TRUE(folder.load());
  folder.options.cache_dir.clear();
  EXPECT_TRUE(folder.load());
  folder.options.cache_dir = "/proc/edge-infer";
  EXPECT_TRUE(folder.load());
}

}  // namespace
}  // namespace edge_infer
