// What the document tests share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "apps/documents/document.h"
#include "models/tokenizers/tokenizer.h"

namespace edge_infer {

inline std::filesystem::path bin_folder() {
  const char* bin = std::getenv("EDGE_INFER_BIN");
  return bin != nullptr ? bin : std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

inline bool has_pdfium() {
  const char* named = std::getenv("EDGE_INFER_PDFIUM");
  return std::filesystem::exists(named != nullptr ? std::filesystem::path(named) : bin_folder() / "../lib/libpdfium.so");
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

// Every block's text stands in the source bytes that it names, white space and markup aside: checked word by word, in
// order, through the block's origins.
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
        const std::string_view from = source.substr(static_cast<size_t>(range.start), static_cast<size_t>(range.end - range.start));
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

// Words and, of long words, pieces of four bytes; like WordPiece, a token never crosses white space and a word that is
// cut has more tokens in its parts. Two special tokens.
class TestTokenizer : public Tokenizer {
 public:
  void encode(std::string_view text, int64_t max_length, Encoding& out) const override {
    std::vector<TokenSpan> spans;
    encode_spans(text, spans);
    out.ids.assign(spans.size() + 2, 7);
    out.tokens = static_cast<int64_t>(out.ids.size());
    out.truncated = max_length > 0 && out.tokens > max_length;
    if (out.truncated) out.ids.resize(static_cast<size_t>(max_length));
  }
  void encode_spans(std::string_view text, std::vector<TokenSpan>& out) const override {
    out.clear();
    for (size_t at = 0; at < text.size();) {
      if (text[at] == ' ' || text[at] == '\n' || text[at] == '\t') {
        ++at;
        continue;
      }
      size_t end = at;
      while (end < text.size() && text[end] != ' ' && text[end] != '\n' && text[end] != '\t') ++end;
      // As WordPiece, one unknown token for a word that is far too long.
      const size_t size = end - at > 100 ? end - at : 4;
      for (; at < end; at = std::min(at + size, end))
        out.push_back({static_cast<int64_t>(at), static_cast<int64_t>(std::min(at + size, end))});
    }
  }
  int64_t special_tokens() const override { return 2; }
  int64_t vocabulary_size() const override { return 8; }
};

}  // namespace edge_infer
