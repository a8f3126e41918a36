// A model directory as files describe it: config.json with typed getters, and the sentence-transformers
// pipeline. Reads no weights and no vocabulary. Immutable after open.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "models/files/json.h"
#include "models/files/sentence_model.h"
#include "runtime/base/error.h"

namespace edge_infer {

class ModelDirectory {
 public:
  // Errors: kNotFound (no folder, no config.json), kInvalidArgument (not a folder), kCorruption,
  // kUnsupported.
  static Result<ModelDirectory> open(const std::filesystem::path& dir);

  const std::filesystem::path& path() const { return path_; }
  // config.json: `config().integer("hidden_size", {1, 1 << 20})`.
  const JsonObject& config() const { return config_; }
  const std::string& model_type() const { return model_type_; }
  const SentenceModel& sentence() const { return sentence_; }
  // Where config.json, tokenizer.json and the weights lie: path(), or a folder in it.
  const std::filesystem::path& transformer_dir() const { return sentence_.transformer_dir; }

  // Tokens of one text, special ones included, that the model takes: sentence_bert_config.json's
  // max_seq_length where there is a modules.json, else the smaller of tokenizer_config.json's
  // model_max_length and the positions there are. Never more than the latter. What tokenizer.json says of
  // truncation does not count. 0 when no file gives any limit.
  int64_t max_seq_length() const { return max_seq_length_; }
  // Tokens for which config.json has positions; 0 where it says nothing.
  int64_t positions() const { return positions_; }

 private:
  Status read_limits();

  std::filesystem::path path_;
  JsonObject config_;
  std::string model_type_;
  SentenceModel sentence_;
  int64_t max_seq_length_ = 0, positions_ = 0;
};

}  // namespace edge_infer
