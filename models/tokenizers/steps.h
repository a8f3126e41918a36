// Reads the "normalizer" and "pre_tokenizer" members of a tokenizer.json into steps.
#pragma once

#include <vector>

#include "models/tokenizers/definition.h"

namespace edge_infer {

// `root` is the whole file. Empty when the member is absent or null. Errors: kCorruption; kUnsupported with
// the name of the type, or for regular expressions (their dialect is not guessed).
Result<std::vector<NormalizerStep>> read_normalizers(const JsonObject& root);
Result<std::vector<PreTokenizerStep>> read_pre_tokenizers(const JsonObject& root);

}  // namespace edge_infer
