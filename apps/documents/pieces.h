// A block's text cut into pieces that are never cut again, with their token counts.
#pragma once

#include <vector>

#include "apps/documents/document.h"
#include "models/tokenizers/tokenizer.h"

namespace edge_infer {

struct Piece {
  int64_t begin = 0, end = 0;  // bytes of the block's text
  int64_t tokens = 0;          // as counted in its block; alone it may be a few more
};

// Cuts blocks. Keeps its buffers between calls; not thread-safe.
class PieceCutter {
 public:
  // `stop`, where there is one, is asked every 64 KiB: true ends cut() early. It outlives the object.
  PieceCutter(const Tokenizer& tokenizer, const StopReading& stop) : tokenizer_(tokenizer), stop_(stop) {}

  // Sentences (lines of code) of at most max_tokens tokens and 32 * max_tokens bytes. Longer ones are cut
  // into pieces of part_tokens: at line ends, else words, else tokens. Linear in the text.
  const std::vector<Piece>& cut(const Block& block, int64_t max_tokens, int64_t part_tokens);

  // Tokens of `text` without special ones.
  int64_t count(std::string_view text);

 private:
  void cut_sentence(std::string_view text, ByteRange sentence, size_t first_token, size_t last_token,
                    int64_t max_tokens, int64_t part_tokens);

  const Tokenizer& tokenizer_;
  const StopReading& stop_;
  std::vector<TokenSpan> spans_;
  std::vector<ByteRange> sentences_;
  std::vector<Piece> pieces_;
};

}  // namespace edge_infer
