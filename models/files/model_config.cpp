#include "models/files/model_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "runtime/base/log.h"

namespace edge_infer {
namespace fs = std::filesystem;
namespace {

// model_max_length of a tokenizer without a limit is 1e30, an integer beyond 64 bits.
Result<int64_t> read_model_max_length(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return 0;
  EDGE_INFER_ASSIGN(const JsonObject config, JsonObject::read(file));
  if (!config.has("model_max_length")) return 0;
  EDGE_INFER_ASSIGN(const double length, config.number("model_max_length"));
  if (!(length >= 1)) return config.mismatch("model_max_length", "a number of at least 1");
  return length > INT32_MAX ? 0 : static_cast<int64_t>(length);
}

// Position embeddings that count from padding_idx + 1 have that many rows fewer for tokens.
int64_t position_offset(std::string_view model_type, int64_t pad_token_id) {
  constexpr std::array<std::string_view, 6> kOffsetFamilies = {"roberta", "xlm-roberta", "camembert",
                                                               "mpnet",   "longformer",  "xlm-roberta-xl"};
  return std::ranges::find(kOffsetFamilies, model_type) != kOffsetFamilies.end() ? pad_token_id + 1 : 0;
}

Result<int64_t> read_positions(const JsonObject& config, std::string_view model_type) {
  for (const char* key : {"max_position_embeddings", "n_positions"}) {
    if (!config.has(key)) continue;
    EDGE_INFER_ASSIGN(const int64_t rows, config.integer(key, {1, INT32_MAX}));
    EDGE_INFER_ASSIGN(const int64_t pad, config.integer_or("pad_token_id", 1, {0, INT32_MAX}));
    const int64_t positions = rows - position_offset(model_type, pad);
    if (positions < 1) return config.mismatch(key, "more positions than the padding takes");
    return positions;
  }
  return 0;
}

Status check_pooling_dimension(const JsonObject& config, const SentenceModel& sentence) {
  if (!sentence.pooling.dimension || !config.has("hidden_size")) return {};
  EDGE_INFER_ASSIGN(const int64_t hidden, config.integer("hidden_size"));
  if (*sentence.pooling.dimension == hidden) return {};
  return fail(
      ErrorCode::kCorruption,
      "\"{}\": pooling: member \"word_embedding_dimension\": found {}, expected {}, the hidden_size of {}",
      sentence.transformer_dir.native(), *sentence.pooling.dimension, hidden, config.label());
}

}  // namespace

Result<ModelDirectory> ModelDirectory::open(const fs::path& dir) {
  std::error_code error;
  const fs::file_status status = fs::status(dir, error);
  if (status.type() == fs::file_type::not_found)
    return fail(ErrorCode::kNotFound, "no model directory \"{}\"", dir.native());
  if (status.type() != fs::file_type::directory)
    return fail(ErrorCode::kInvalidArgument, "\"{}\" is not a directory, expected a model directory",
                dir.native());
  ModelDirectory model;
  model.path_ = dir;
  EDGE_INFER_ASSIGN(model.sentence_, read_sentence_model(dir));
  EDGE_INFER_ASSIGN(model.config_, JsonObject::read(model.transformer_dir() / "config.json"));
  EDGE_INFER_ASSIGN(model.model_type_, model.config_.text("model_type"));
  EDGE_INFER_RETURN_IF_ERROR(check_pooling_dimension(model.config_, model.sentence_));
  EDGE_INFER_RETURN_IF_ERROR(model.read_limits());
  return model;
}

Status ModelDirectory::read_limits() {
  EDGE_INFER_ASSIGN(positions_, read_positions(config_, model_type_));
  EDGE_INFER_ASSIGN(const int64_t tokenizer_limit,
                    read_model_max_length(transformer_dir() / "tokenizer_config.json"));
  int64_t limit = sentence_.max_seq_length.value_or(tokenizer_limit);
  if (positions_ > 0 && (limit == 0 || limit > positions_)) {
    if (sentence_.max_seq_length && limit > positions_)
      log_warning("\"{}\": max_seq_length {} is cut to the {} positions of the model", path_.native(), limit,
                  positions_);
    limit = positions_;
  }
  max_seq_length_ = limit;
  return {};
}

}  // namespace edge_infer
