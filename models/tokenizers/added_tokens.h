// Finds added tokens in text: leftmost, and of those that begin there the longest, in time linear in the text
// (Aho-Corasick), then applies their single_word, lstrip and rstrip as Hugging Face `tokenizers` does.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizers/definition.h"

namespace edge_infer {

struct AddedMatch {
  size_t begin = 0, end = 0;  // bytes of the text; may begin before the end of the match in front of it
  int32_t id = 0;
};

class AddedTokenMatcher {
 public:
  AddedTokenMatcher() = default;
  // `patterns[i]` is the UTF-8 content to look for `tokens[i]`, never empty. Of equal patterns the first
  // counts.
  AddedTokenMatcher(const std::vector<AddedToken>& tokens, const std::vector<std::string>& patterns);

  bool empty() const { return tokens_.empty(); }
  // Appends the matches in `text` (any bytes), in order, to `out`.
  void find(std::string_view text, std::vector<AddedMatch>& out) const;

 private:
  struct Node {
    uint32_t first_edge = 0, edge_count = 0;
    int32_t fail = 0;    // kDead where a leftmost match has already begun
    int32_t match = -1;  // token, or -1
    uint32_t depth = 0;
  };
  struct Edge {
    unsigned char byte;
    uint32_t target;
  };
  static constexpr int32_t kDead = -1;

  int32_t child(uint32_t node, unsigned char byte) const;
  size_t next_candidate(std::string_view text, size_t from) const;
  void accept(std::string_view text, size_t begin, size_t end, const AddedToken& token, size_t& covered,
              std::vector<AddedMatch>& out) const;

  std::vector<AddedToken> tokens_;
  std::vector<uint32_t> lengths_;  // bytes of each pattern
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;  // of one node: ascending by byte
  std::array<bool, 256> starts_{};
  int single_start_ = -1;  // the byte with which all patterns begin, if there is one
};

}  // namespace edge_infer
