// Reads the bodies of POST /v1/embeddings and POST /embed straight from JSON events: no document tree, so
// that a hostile body of 64 MB costs no more memory than its own size again.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/server/http_message.h"

namespace edge_infer {

enum class BodyDialect { kOpenAi, kTei };  // "input" or "inputs", and the keys that go with them

struct BodyLimits {
  size_t max_inputs = 2048;
  int64_t vocabulary_size = 0;  // token ids must be below it
  int64_t dimensions = 0;       // of the model: the upper bound of "dimensions"
  int max_depth = 64;           // nesting of arrays and objects, also below keys that are ignored
};

// One text, or one list of token ids in the model's own vocabulary.
struct BodyInput {
  bool is_ids = false;
  std::string text;
  std::vector<int32_t> ids;
};

struct EmbeddingBody {
  std::vector<BodyInput> inputs;           // never empty
  std::string model;                       // as sent; may be empty
  std::optional<std::string> prompt_name;  // none: the model's default prompt; "": no prompt
  std::optional<int64_t> dimensions;
  bool base64 = false;
  bool truncate = true;
  bool normalize = false;  // TEI's default is true; OpenAI's route answers what the model gives
};

// Unknown keys are ignored, null stands for an absent optional key, of a repeated key the last one holds.
// Every failure is a 400 that names the key in `param`.
std::expected<EmbeddingBody, ApiError> read_embedding_body(std::string_view body, BodyDialect dialect,
                                                           const BodyLimits& limits);

}  // namespace edge_infer
