// What a sentence-transformers directory says around its transformer: how token vectors become one vector,
// how long a text may be, what is put in front of it. Plain data, read from modules.json and the files that
// it names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/files/json.h"
#include "runtime/base/error.h"

namespace edge_infer {

enum class PoolingMode { kCls, kMax, kMean, kMeanSqrtLength, kWeightedMean, kLastToken };
std::string_view pooling_mode_name(PoolingMode mode);  // as in "pooling_mode": "cls", "mean", ...

struct PoolingConfig {
  std::vector<PoolingMode> modes = {
      PoolingMode::kMean};           // at least one; the results are concatenated in this order
  bool include_prompt = true;        // false: the prompt's tokens are left out
  std::filesystem::path file;        // that says so; empty without modules.json
  std::optional<int64_t> dimension;  // of a token's vector, where the file says it
};

enum class DenseActivation { kIdentity, kTanh, kRelu, kGelu, kSilu, kSigmoid, kLeakyRelu, kRelu6, kMish };
// As models/architectures/activation.h names it: "identity", "tanh", ...
std::string_view dense_activation_name(DenseActivation activation);

// y = activation(W x + b); `dir` holds model.safetensors with linear.weight [out, in] and, if bias,
// linear.bias [out].
struct DenseConfig {
  std::filesystem::path dir;
  int64_t in_features = 0, out_features = 0;
  bool bias = true;
  DenseActivation activation = DenseActivation::kTanh;
};

struct SentenceModel {
  std::filesystem::path transformer_dir;  // where config.json, tokenizer.json and the weights lie
  std::optional<int64_t>
      max_seq_length;  // of sentence_bert_config.json, before it is cut to the model's positions
  bool do_lower_case = false;
  PoolingConfig pooling;
  std::vector<DenseConfig> dense;  // in order, after pooling
  bool normalize = false;          // L2, last
  std::map<std::string, std::string, std::less<>> prompts;
  std::string default_prompt_name;  // empty: none; otherwise a key of prompts
  std::string similarity = "cosine";
};

// The prompt text of `name`; without a name the default prompt's, often empty; "" is no prompt. Errors:
// kNotFound lists the names.
Result<std::string> find_prompt(const SentenceModel& model, std::optional<std::string_view> name);

// Reads the directory. Without modules.json: mean pooling, not normalized, and neither
// sentence_bert_config.json nor config_sentence_transformers.json is read (a warning says so), as
// sentence-transformers does. Errors: kUnsupported (an unknown module or activation, by name), kNotFound,
// kCorruption.
Result<SentenceModel> read_sentence_model(const std::filesystem::path& dir);

}  // namespace edge_infer
