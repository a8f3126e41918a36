// BERT's normalizer and pre-tokenizer look at one character at a time, so that what becomes of each code
// point can be computed once: a two-stage table that works in place in a mapped file.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/tokenizers/definition.h"
#include "runtime/base/error.h"

namespace edge_infer {

enum class CharKind : uint32_t {
  kSelf = 0,     // a character of a word, as it is
  kMapped = 1,   // a character of a word; payload: the character it becomes
  kSpace = 2,    // ends a word
  kDrop = 3,     // vanishes, without ending a word
  kSingle = 4,   // a word of its own; payload: the character it becomes
  kSeveral = 5,  // characters of a word; payload: where in the pool they are
  kGeneral = 6,  // depends on its neighbours: the text goes through the general path
};
struct CharEntry {
  uint32_t bits = 0;
  CharKind kind() const { return static_cast<CharKind>(bits & 7u); }
  uint32_t payload() const { return bits >> 3; }
};

// A view of the arrays, which the caller keeps alive. After validate(), every lookup stays inside of them.
class CharTable {
 public:
  static constexpr uint32_t kBlock = 128;

  CharTable() = default;
  CharTable(std::span<const uint16_t> blocks, std::span<const CharEntry> entries, std::span<const char> pool)
      : blocks_(blocks), entries_(entries), pool_(pool) {}
  Status validate() const;
  bool empty() const { return blocks_.empty(); }

  CharEntry entry(uint32_t code) const { return entries_[blocks_[code / kBlock] * kBlock + code % kBlock]; }
  // UTF-8 and number of characters of a kSeveral entry.
  std::string_view several(CharEntry e) const {
    return {pool_.data() + e.payload() + 2, static_cast<unsigned char>(pool_[e.payload()])};
  }
  uint32_t several_chars(CharEntry e) const { return static_cast<unsigned char>(pool_[e.payload() + 1]); }

  std::span<const uint16_t> blocks() const { return blocks_; }
  std::span<const CharEntry> entries() const { return entries_; }
  std::span<const char> pool() const { return pool_; }

 private:
  std::span<const uint16_t> blocks_;  // code / kBlock -> block
  std::span<const CharEntry> entries_;
  std::span<const char> pool_;  // each: bytes, characters, UTF-8
};

struct CharTableArrays {
  std::vector<uint16_t> blocks;
  std::vector<CharEntry> entries;
  std::vector<char> pool;
};
// Empty arrays when the steps are not of the kind that a table can hold.
CharTableArrays build_char_table(const TokenizerDefinition& definition);

}  // namespace edge_infer
