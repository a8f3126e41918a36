// Applies the normalizer of a tokenizer.json to a piece of text.
#pragma once

#include <span>

#include "models/tokenizers/definition.h"

namespace edge_infer {

void apply_normalizers(std::span<const NormalizerStep> steps, CodeText& text);

}  // namespace edge_infer
