// Buffers of one call of the tokenizer. Each thread keeps a set, so that a call allocates nothing once they
// have grown; what a large text made them grow to is given back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/tokenizers/added_tokens.h"
#include "models/tokenizers/pre_tokenizers.h"
#include "models/tokenizers/unicode.h"

namespace edge_infer {

// The normalized bytes of one word and, for each, the bytes of the input that it came from.
struct WordBuffer {
  std::vector<char> bytes;
  std::vector<uint32_t> begins, ends;
  size_t size = 0;
  bool overflow = false;  // the word is longer than any that is looked up; its bytes are not kept
  uint32_t first = 0, last = 0;
};

struct TokenizerScratch {
  WordBuffer word;
  std::vector<AddedMatch> raw_matches, normalized_matches;
  CodeText text;
  std::string utf8;
  std::vector<uint32_t> char_starts;  // of `utf8`, one more than characters
  std::vector<WordRange> words;
  std::string rewritten;  // the input in other bytes, and where each came from
  std::vector<uint32_t> rewritten_begins, rewritten_ends;

  void trim() {
    constexpr size_t kKeep = size_t{1} << 16;
    trim(word.bytes, kKeep), trim(word.begins, kKeep), trim(word.ends, kKeep);
    trim(raw_matches, kKeep), trim(normalized_matches, kKeep), trim(text, kKeep), trim(utf8, kKeep);
    trim(char_starts, kKeep), trim(words, kKeep), trim(rewritten, kKeep);
    trim(rewritten_begins, kKeep), trim(rewritten_ends, kKeep);
  }

 private:
  template <typename T>
  static void trim(T& buffer, size_t keep) {
    if (buffer.capacity() > keep) T().swap(buffer);
  }
};

}  // namespace edge_infer
