// WordPiece: cuts one word into the longest tokens of the vocabulary, from the left; the unknown token when
// it cannot.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/tokenizers/vocabulary.h"

namespace edge_infer {

class WordMatcher {
 public:
  WordMatcher() = default;
  WordMatcher(const Vocabulary& vocabulary, const TokenizerDefinition& definition)
      : vocabulary_(vocabulary),
        continuing_(vocabulary.walk(kTrieRoot, definition.continuing_prefix)),
        unknown_id_(definition.unknown_id),
        max_chars_(definition.max_chars_per_word) {}

  // Calls `emit(id, begin, end)` for each token of `word` (bytes of the word; not empty), in order, and
  // `take_back(count)` when tokens already emitted turn out to be void.
  template <typename Emit, typename TakeBack>
  void match(std::string_view word, Emit emit, TakeBack take_back) const {
    if (static_cast<int64_t>(word.size()) > max_chars_ && count_chars(word) > max_chars_)
      return emit(unknown_id_, size_t{0}, word.size());
    uint32_t node = kTrieRoot;
    size_t start = 0, count = 0;
    while (true) {
      uint32_t best = kNoNode;
      size_t end = start;
      for (size_t i = start; i < word.size(); ++i) {
        node = vocabulary_.child(node, static_cast<unsigned char>(word[i]));
        if (node == kNoNode) break;
        if (vocabulary_.is_token(node)) {
          best = node;
          end = i + 1;
        }
      }
      if (best == kNoNode) break;
      emit(vocabulary_.id(best), start, end);
      if (end == word.size()) return;
      ++count;
      start = end;
      node = continuing_;
      if (node == kNoNode) break;
    }
    take_back(count);
    emit(unknown_id_, size_t{0}, word.size());
  }

  // Bytes beyond which a word has too many characters for sure.
  size_t max_bytes() const { return static_cast<size_t>(max_chars_) * 4; }
  int32_t unknown_id() const { return unknown_id_; }

 private:
  static int64_t count_chars(std::string_view word) {
    int64_t count = 0;
    for (const char c : word) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    return count;
  }

  Vocabulary vocabulary_;
  uint32_t continuing_ = kNoNode;  // where the pieces behind the first begin
  int32_t unknown_id_ = 0;
  int64_t max_chars_ = 100;
};

}  // namespace edge_infer
