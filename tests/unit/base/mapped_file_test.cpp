#include "runtime/base/mapped_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace edge_infer {
namespace {

std::filesystem::path temporary(const char* name) {
  return std::filesystem::path(testing::TempDir()) / ("edge_infer_" + std::string(name));
}

TEST(MappedFile, maps_what_was_written_atomically) {
  const auto path = temporary("mapped");
  const std::string text = "hello";
  ASSERT_TRUE(write_file_atomically(path, std::as_bytes(std::span(text))));
  auto map = MappedFile::open(path);
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->bytes().size(), text.size());
  EXPECT_EQ(std::memcmp(map->bytes().data(), text.data(), text.size()), 0);
  EXPECT_EQ(*stamp_file(path), map->stamp());
  std::filesystem::remove(path);
}

TEST(MappedFile, names_the_missing_file) {
  auto map = MappedFile::open("/nonexistent/weights");
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().code, ErrorCode::kNotFound);
  EXPECT_NE(map.error().message.find("/nonexistent/weights"), std::string::npos);
}

TEST(MappedFile, refuses_a_folder_and_a_file_over_the_limit) {
  EXPECT_FALSE(MappedFile::open(testing::TempDir()));
  const auto path = temporary("limit");
  std::ofstream(path) << "0123456789";
  EXPECT_EQ(read_file(path, 9).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(*read_file(path, 10), "0123456789");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace edge_infer
