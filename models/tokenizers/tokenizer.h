// Tokenizer: text -> token ids exactly as Hugging Face `tokenizers` does for the model's tokenizer.json.
// Immutable after load and safe to use from any number of threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

struct Encoding {
  std::vector<int32_t> ids;  // special tokens included
  bool truncated = false;
  int64_t tokens = 0;  // number of ids before truncation, special tokens included
};

// Bytes [begin, end) of the input text that a token came from. Where several characters became one, all of
// them; where one became several, each token has the whole of it.
struct TokenSpan {
  int64_t begin = 0, end = 0;
};

struct TokenizerOptions {
  std::filesystem::path cache_dir;  // where the mapped image is kept; empty: no image, parse each time
  bool force_lower_case = false;    // sentence_bert_config.json's do_lower_case
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Loads `model_dir`/tokenizer.json (WordPiece models), or vocab.txt of a BertTokenizer where there is none,
  // through the image `cache_dir`/tokenizer-HASH.img of the file's content where there is a good one (0.4 ms
  // instead of 30). The file's own truncation length and padding are not used. An unwritable cache is not an
  // error. Errors: kNotFound, kCorruption, kUnsupported, kResourceExhausted, naming the file and the member.
  static Result<std::unique_ptr<Tokenizer>> load(const std::filesystem::path& model_dir,
                                                 const TokenizerOptions& options = {});

  // `text` may be any bytes: what is not UTF-8 becomes U+FFFD. max_length counts special tokens; <= 0 means
  // none. Reuses out's capacity.
  virtual void encode(std::string_view text, int64_t max_length, Encoding& out) const = 0;
  // The tokens of `text` without special tokens or truncation, as byte spans (ascending): what a chunker
  // needs.
  virtual void encode_spans(std::string_view text, std::vector<TokenSpan>& out) const = 0;
  // Special tokens that encode() adds to a single text.
  virtual int64_t special_tokens() const = 0;
  virtual int64_t vocabulary_size() const = 0;  // highest id that encode() can give + 1
};

}  // namespace edge_infer
