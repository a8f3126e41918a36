// Applies the pre-tokenizer of a tokenizer.json: cuts a normalized text into the words that the model sees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/tokenizers/definition.h"

namespace edge_infer {

struct WordRange {
  size_t begin = 0, end = 0;  // characters of the CodeText; never empty
};

// `words` holds the pieces to cut on entry (usually one, the whole text) and the words on return.
void apply_pre_tokenizers(std::span<const PreTokenizerStep> steps, const CodeText& text,
                          std::vector<WordRange>& words);

}  // namespace edge_infer
