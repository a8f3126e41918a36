// Bodies of the embedding routes' answers, written straight into one string.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace edge_infer {

// What is cut off an input that is longer than the model takes.
struct TruncatedInput {
  size_t index = 0;
  int64_t tokens = 0;        // that were embedded
  int64_t tokens_total = 0;  // before truncation
};

struct EmbeddingAnswer {
  std::string model;
  std::span<const float> vectors;  // [rows, dimensions]
  int64_t dimensions = 0;
  bool base64 = false;
  int64_t prompt_tokens = 0;
  std::span<const TruncatedInput> truncated;
};

// {"object":"list","data":[...],"model","usage"}, with a member "edge" only when an input was truncated.
std::string openai_answer(const EmbeddingAnswer& answer);
// [[...],...]: two dimensions also for one input.
std::string tei_answer(std::span<const float> vectors, int64_t dimensions);

// Shortest decimal forms that read back as the same float; the values must be finite.
void append_floats(std::span<const float> values, std::string& out);
// Little-endian float32, standard alphabet with padding.
void append_base64(std::span<const float> values, std::string& out);

// Keeps the first `kept` of each row's `dimensions` values and scales the row to unit length (kept <
// dimensions).
std::vector<float> slice_rows(std::span<const float> vectors, int64_t dimensions, int64_t kept);
// Scales rows to unit length; rows that have it already (within rounding) keep their bits.
void normalize_rows(std::span<float> vectors, int64_t dimensions);
bool all_finite(std::span<const float> values);

}  // namespace edge_infer
