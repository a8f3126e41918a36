// What the document tests share.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "apps/documents/document.h"
#include "tests/unit/documents/test_tokenizer.h"

namespace edge_infer {

inline std::filesystem::path bin_folder() {
  const char* bin = std::getenv("EDGE_INFER_BIN");
  return bin != nullptr ? bin : std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

inline bool has_pdfium() {
  const char* named = std::getenv("EDGE_INFER_PDFIUM");
  return std::filesystem::exists(named != nullptr ? std::filesystem::path(named)
                                                  : bin_folder() / "../lib/libpdfium.so");
}

// CPU seconds of this process and its children so far: what a loaded machine does not change. Those of an
// instrumented build are counted as a quarter.
inline double cpu_seconds() {
  double total = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(static_cast<__rusage_who>(who), &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime})
      total += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  }
#ifdef EDGE_INFER_SANITIZED
  total /= 4;
#endif
  return total;
}

// A folder of its own, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = testing::TempDir() + "edge_documents_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  std::filesystem::path write(const std::string& name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Every block's text stands in the source bytes that it names, white space and markup aside: checked word by
// word, in order, through the block's origins.
inline void expect_offsets_hold(const Document& document, std::string_view source) {
  for (const Block& block : document.blocks) {
    ASSERT_LE(0, block.start);
    ASSERT_LE(block.start, block.end);
    ASSERT_LE(block.end, static_cast<int64_t>(source.size()));
    for (size_t at = 0; at < block.text.size();) {
      size_t end = at;
      const auto plain = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
      while (end < block.text.size() && plain(block.text[end])) ++end;
      if (end > at + 1) {
        const std::string word = block.text.substr(at, end - at);
        const ByteRange range = source_range(block, static_cast<int64_t>(at), static_cast<int64_t>(end));
        const std::string_view from =
            source.substr(static_cast<size_t>(range.start), static_cast<size_t>(range.end - range.start));
        EXPECT_EQ(from, word) << "in: " << block.text;
        EXPECT_GE(range.start, block.start);
        EXPECT_LE(range.end, block.end);
      }
      at = std::max(end, at + 1);
    }
  }
}

// "H1 Title|P text|..." : kinds and texts of a document's blocks, for comparing with one string.
inline std::string outline(const Document& document) {
  std::string out;
  for (const Block& block : document.blocks) {
    if (!out.empty()) out += "|";
    out += "HPLTC"[static_cast<int>(block.kind)];
    if (block.level > 0) out += std::to_string(block.level);
    if (block.header) out += "h";
    out += " " + block.text;
  }
  return out;
}

}  // namespace edge_infer
