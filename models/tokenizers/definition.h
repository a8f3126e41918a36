// What a tokenizer.json says, as plain data: normalizer, pre-tokenizer, WordPiece model, added tokens,
// template. Reading it checks everything that encoding relies on, so that encoding cannot fail.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/files/json.h"
#include "models/tokenizers/unicode.h"
#include "runtime/base/error.h"

namespace edge_infer {

enum class NormalizerKind {
  kBert,
  kLowercase,
  kNfc,
  kNfd,
  kNfkc,
  kNfkd,
  kStripAccents,
  kStrip,
  kReplace,
  kPrepend,
  kNmt
};
struct NormalizerStep {
  NormalizerKind kind = NormalizerKind::kBert;
  bool clean_text = true, chinese_chars = true, strip_accents = true, lower_case = true;  // kBert
  bool left = true, right = true;                                                         // kStrip
  std::u32string pattern, content;  // kReplace; content: kPrepend
};

enum class PreTokenizerKind {
  kBert,
  kWhitespace,
  kWhitespaceSplit,
  kPunctuation,
  kDigits,
  kSplit,
  kCharDelimiter
};
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
struct PreTokenizerStep {
  PreTokenizerKind kind = PreTokenizerKind::kBert;
  SplitBehavior behavior = SplitBehavior::kIsolated;  // kPunctuation, kSplit
  bool individual_digits = false;                     // kDigits
  bool invert = false;                                // kSplit
  std::u32string pattern;                             // kSplit, kCharDelimiter (one character)
};

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool single_word = false, lstrip = false, rstrip = false, normalized = true, special = false;
};

struct VocabularyEntry {
  std::string_view token;  // points into whatever the entries were read from
  int32_t id = 0;
};

struct TokenizerDefinition {
  std::vector<NormalizerStep> normalizers;
  std::vector<PreTokenizerStep> pre_tokenizers;
  std::vector<AddedToken> added_tokens;
  std::vector<int32_t> prefix, suffix;  // ids around a single text
  std::string continuing_prefix = "##";
  int64_t max_chars_per_word = 100;
  int32_t unknown_id = 0;
  int64_t vocabulary_size = 0;  // highest id that encoding can give + 1
  bool truncate_left = false;
};

// Everything but the vocabulary lives in a "skeleton": the JSON of the file with an empty vocabulary and the
// ids that the vocabulary gave to added and unknown tokens. An image stores that, so that there is one way to
// read a definition.
struct ParsedTokenizer {
  TokenizerDefinition definition;
  JsonObject root;                          // keeps the vocabulary's strings alive
  std::vector<VocabularyEntry> vocabulary;  // tokens differ
  std::string skeleton;
};

// Reads the text of a tokenizer.json. Errors: kCorruption, kUnsupported, naming `label` and the member.
Result<ParsedTokenizer> parse_tokenizer(std::string_view text, const std::string& label);
// Reads a skeleton, which is checked like any file.
Result<TokenizerDefinition> parse_skeleton(std::string_view text);

// The tokenizer.json that transformers' BertTokenizer amounts to, for folders with only vocab.txt and
// tokenizer_config.json (`config` may be empty). Errors: kUnsupported for another tokenizer_class.
Result<std::string> bert_tokenizer_json(std::string_view vocabulary, const JsonObject& config,
                                        const std::string& label);

}  // namespace edge_infer
