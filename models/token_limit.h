// How many tokens of a text a model is given.
#pragma once

#include <cstdint>

#include "models/files/model_config.h"

namespace edge_infer {

// Tokens at which a text is cut, its `special_tokens` included: `asked` where it is above 0, else the model's
// own limit. Errors: kInvalidArgument when that is beyond the model's positions or leaves no room for a text.
Result<int64_t> token_limit(const ModelDirectory& directory, int64_t asked, int64_t special_tokens);

}  // namespace edge_infer
