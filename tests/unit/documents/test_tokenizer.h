// A tokenizer simple enough to reason about.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "models/tokenizers/tokenizer.h"

namespace edge_infer {

// Words and, of long words, pieces of four bytes; like WordPiece, a token never crosses white space and a
// word that is cut has more tokens in its parts. Two special tokens.
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
