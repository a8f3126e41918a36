// The Tokenizer over a set of tables.
#pragma once

#include <memory>

#include "models/tokenizers/image.h"
#include "models/tokenizers/tokenizer.h"

namespace edge_infer {

// `lower_first`: the whole text is put in lower case before anything else, as sentence-transformers'
// do_lower_case does. Tables without a character table make a tokenizer that gives the same ids more slowly.
std::unique_ptr<Tokenizer> make_word_piece_tokenizer(TokenizerTables tables, bool lower_first);

}  // namespace edge_infer
