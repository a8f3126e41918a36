// The inputs on which a model's program in fp16 or bf16 is judged (compiler/precision_gate.h).
#pragma once

#include <cstdint>

#include "compiler/precision_gate.h"
#include "models/tokenizers/tokenizer.h"

namespace edge_infer {

// Inputs of one call of a sentence graph (ids, offsets): a word, a sentence and a page of text in several
// scripts, then ids taken from all over the vocabulary, from a single one up to as many as the model has
// positions (at most 1,024), each sequence between the special tokens that the model uses. The same for the
// same tokenizer and positions. About 1,200 tokens for 512 positions.
GateSample gate_sample(const Tokenizer& tokenizer, int64_t positions);

}  // namespace edge_infer
