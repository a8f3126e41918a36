// A tokenizer's tables, in memory or in a mapped image file. An image is found by the hash of the
// tokenizer.json that it was made from, so that a changed file never meets an old image; it is believed only
// after its checksum, its bounds and its definition have been checked.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizers/char_table.h"
#include "models/tokenizers/definition.h"
#include "models/tokenizers/vocabulary.h"
#include "runtime/base/cache_files.h"
#include "runtime/base/error.h"
#include "runtime/base/mapped_file.h"

namespace edge_infer {

// Identifies the input and the format of an image: 128 bits.
struct ImageKey {
  uint64_t low = 0, high = 0;
  friend bool operator==(const ImageKey&, const ImageKey&) = default;
  std::string hex() const;
};
ImageKey image_key(std::string_view tokenizer_json);

// Movable; the views point into what it owns and live as long.
class TokenizerTables {
 public:
  // The character table makes encoding fast and takes tens of milliseconds to build.
  // Errors: kResourceExhausted (too large a vocabulary).
  static Result<TokenizerTables> build(ParsedTokenizer parsed, bool with_char_table = true);
  // Errors: kNotFound, kIoError; kCorruption for anything that is not an intact image with this key.
  static Result<TokenizerTables> map(const std::filesystem::path& file, const ImageKey& key);
  // The content of an image file. Only for built tables.
  std::vector<std::byte> serialize(const ImageKey& key) const;

  const TokenizerDefinition& definition() const { return definition_; }
  TokenizerDefinition& definition() { return definition_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const CharTable& char_table() const { return char_table_; }
  bool is_mapped() const { return !file_.bytes().empty(); }

 private:
  TokenizerDefinition definition_;
  Vocabulary vocabulary_;
  CharTable char_table_;
  MappedFile file_;
  CacheFileUse use_;
  std::string skeleton_;
  VocabularyArrays vocabulary_arrays_;
  CharTableArrays char_arrays_;
};

}  // namespace edge_infer
