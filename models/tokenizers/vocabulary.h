// The vocabulary as a double-array trie over bytes: two arrays that work in place in a mapped file.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/tokenizers/definition.h"
#include "runtime/base/error.h"

namespace edge_infer {

// child(node, byte) = base(node) + byte if that unit's `check` is the node. Bit 31 of `base` marks the end of
// a token.
struct TrieUnit {
  uint32_t base = 0;
  uint32_t check = 0;
};
constexpr uint32_t kTrieTerminal = 0x8000'0000u;
constexpr uint32_t kTrieBaseMask = 0x7fff'ffffu;
constexpr uint32_t kTrieRoot = 1;  // unit 0 is nobody's: an unused unit's check is 0
constexpr uint32_t kNoNode = 0;

// A view of the arrays, which the caller keeps alive. After validate(), no walk leaves them.
class Vocabulary {
 public:
  Vocabulary() = default;
  Vocabulary(std::span<const TrieUnit> units, std::span<const int32_t> ids) : units_(units), ids_(ids) {}

  // Errors: kCorruption when a unit points out of the array or an id is not in [0, vocabulary_size).
  Status validate(int64_t vocabulary_size) const;

  uint32_t child(uint32_t node, unsigned char byte) const {
    const uint32_t target = (units_[node].base & kTrieBaseMask) + byte;
    return units_[target].check == node ? target : kNoNode;
  }
  bool is_token(uint32_t node) const { return (units_[node].base & kTrieTerminal) != 0; }
  int32_t id(uint32_t node) const { return ids_[node]; }
  // The node of `text` from `node`; kNoNode when no token has that prefix.
  uint32_t walk(uint32_t node, std::string_view text) const;

  std::span<const TrieUnit> units() const { return units_; }
  std::span<const int32_t> ids() const { return ids_; }

 private:
  std::span<const TrieUnit> units_;
  std::span<const int32_t> ids_;  // by node; -1 where no token ends
};

struct VocabularyArrays {
  std::vector<TrieUnit> units;
  std::vector<int32_t> ids;
};
// Errors: kResourceExhausted (more than 2^30 units). The empty token is left out: no word is empty.
Result<VocabularyArrays> build_vocabulary(std::vector<VocabularyEntry> entries);

}  // namespace edge_infer
