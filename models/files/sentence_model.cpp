#include "models/files/sentence_model.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/log.h"

namespace edge_infer {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kMaxFeatures = 1 << 24;
constexpr size_t kMaxModules = 64;

struct ModeNames {
  PoolingMode mode;
  std::string_view name, legacy;
};
// In the order in which the legacy format concatenates.
constexpr std::array<ModeNames, 6> kModes = {{
    {PoolingMode::kCls, "cls", "pooling_mode_cls_token"},
    {PoolingMode::kMax, "max", "pooling_mode_max_tokens"},
    {PoolingMode::kMean, "mean", "pooling_mode_mean_tokens"},
    {PoolingMode::kMeanSqrtLength, "mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"},
    {PoolingMode::kWeightedMean, "weightedmean", "pooling_mode_weightedmean_tokens"},
    {PoolingMode::kLastToken, "lasttoken", "pooling_mode_lasttoken"},
}};

// The last component of a dotted Python name, which is all that the old and the new format share.
std::string_view last_component(std::string_view type) {
  return type.substr(type.rfind('.') + 1);
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Result<PoolingMode> parse_mode(const JsonObject& config, std::string_view name) {
  const auto* found = std::ranges::find(kModes, name, &ModeNames::name);
  if (found == kModes.end())
    return fail(ErrorCode::kUnsupported,
                "{}: member \"pooling_mode\": found {}, expected cls, max, mean, mean_sqrt_len_tokens, "
                "weightedmean or "
                "lasttoken",
                config.label(), quote(name));
  return found->mode;
}

Result<std::vector<PoolingMode>> read_modes(const JsonObject& config) {
  std::vector<PoolingMode> modes;
  if (config.has("pooling_mode")) {
    std::vector<std::string> names;
    if (config.json().at("pooling_mode").is_string()) {
      EDGE_INFER_ASSIGN(std::string name, config.text("pooling_mode"));
      names.push_back(std::move(name));
    } else {
      EDGE_INFER_ASSIGN(names, config.texts_or_empty("pooling_mode"));
    }
    if (names.empty() || names.size() > kModes.size())
      return config.mismatch("pooling_mode", "1 to 6 pooling modes");
    for (const std::string& name : names) {
      EDGE_INFER_ASSIGN(const PoolingMode mode, parse_mode(config, name));
      modes.push_back(mode);
    }
    return modes;
  }
  for (const ModeNames& mode : kModes) {
    EDGE_INFER_ASSIGN(const bool on, config.boolean_or(mode.legacy, false));
    if (on) modes.push_back(mode.mode);
  }
  if (modes.empty()) {
    log_warning("{}: no pooling mode is on; taking the mean, as sentence-transformers does", config.label());
    modes.push_back(PoolingMode::kMean);
  }
  return modes;
}

Result<PoolingConfig> read_pooling(const fs::path& dir) {
  EDGE_INFER_ASSIGN(const JsonObject config, JsonObject::read(dir / "config.json"));
  PoolingConfig pooling;
  pooling.file = dir / "config.json";
  EDGE_INFER_ASSIGN(pooling.modes, read_modes(config));
  EDGE_INFER_ASSIGN(pooling.include_prompt, config.boolean_or("include_prompt", true));
  for (const char* key : {"embedding_dimension", "word_embedding_dimension"}) {
    if (!config.has(key)) continue;
    EDGE_INFER_ASSIGN(pooling.dimension, config.integer(key, {1, kMaxFeatures}));
    break;
  }
  return pooling;
}

Result<DenseActivation> parse_activation(const JsonObject& config) {
  EDGE_INFER_ASSIGN(const std::string name,
                    config.text_or("activation_function", "torch.nn.modules.activation.Tanh"));
  constexpr std::array<std::pair<std::string_view, DenseActivation>, 9> kNames = {{
      {"Identity", DenseActivation::kIdentity},
      {"Tanh", DenseActivation::kTanh},
      {"ReLU", DenseActivation::kRelu},
      {"GELU", DenseActivation::kGelu},
      {"SiLU", DenseActivation::kSilu},
      {"Sigmoid", DenseActivation::kSigmoid},
      {"LeakyReLU", DenseActivation::kLeakyRelu},
      {"ReLU6", DenseActivation::kRelu6},
      {"Mish", DenseActivation::kMish},
  }};
  for (const auto& [known, activation] : kNames)
    if (last_component(name) == known) return activation;
  std::string expected;
  for (const auto& [known, activation] : kNames)
    expected += (expected.empty() ? "" : ", ") + std::string(known);
  return fail(ErrorCode::kUnsupported, "{}: member \"activation_function\": found {}, expected one of: {}",
              config.label(), quote(name), expected);
}

Result<DenseConfig> read_dense(const fs::path& dir) {
  EDGE_INFER_ASSIGN(const JsonObject config, JsonObject::read(dir / "config.json"));
  DenseConfig dense;
  dense.dir = dir;
  EDGE_INFER_ASSIGN(dense.in_features, config.integer("in_features", {1, kMaxFeatures}));
  EDGE_INFER_ASSIGN(dense.out_features, config.integer("out_features", {1, kMaxFeatures}));
  EDGE_INFER_ASSIGN(dense.bias, config.boolean_or("bias", true));
  EDGE_INFER_ASSIGN(dense.activation, parse_activation(config));
  EDGE_INFER_ASSIGN(const bool residual, config.boolean_or("use_residual", false));
  if (residual) return fail(ErrorCode::kUnsupported, "{}: member \"use_residual\" is true", config.label());
  for (const char* key : {"module_input_name", "module_output_name"}) {
    EDGE_INFER_ASSIGN(const std::string name, config.text_or(key, "sentence_embedding"));
    if (name != "sentence_embedding")
      return fail(ErrorCode::kUnsupported, "{}: member \"{}\": found {}, expected \"sentence_embedding\"",
                  config.label(), key, quote(name));
  }
  return dense;
}

// A module's folder, which must lie inside of the model's.
Result<fs::path> module_dir(const fs::path& dir, const JsonObject& module) {
  EDGE_INFER_ASSIGN(const std::string text, module.text_or("path", ""));
  const fs::path path(text);
  const bool leaves = std::ranges::find(path, fs::path("..")) != path.end();
  if (path.is_absolute() || leaves || text.find('\0') != std::string::npos)
    return fail(ErrorCode::kCorruption,
                "{}: member \"path\": found {}, expected a folder inside of the model", module.label(),
                quote(text));
  return text.empty() ? dir : dir / path;
}

Status add_module(const fs::path& dir, const JsonObject& module, size_t position, SentenceModel& model) {
  EDGE_INFER_ASSIGN(const std::string type, module.text("type"));
  EDGE_INFER_ASSIGN(const fs::path folder, module_dir(dir, module));
  const std::string_view kind = last_component(type);
  const auto misplaced = [&](std::string_view expected) {
    return fail(ErrorCode::kUnsupported, "{}: module {} at position {}, expected {}", module.label(),
                quote(type), position, expected);
  };
  if (kind == "Transformer") {
    if (position != 0) return misplaced("the transformer first");
    model.transformer_dir = folder;
  } else if (kind == "Pooling") {
    if (position != 1) return misplaced("pooling right after the transformer");
    EDGE_INFER_ASSIGN(model.pooling, read_pooling(folder));
  } else if (kind == "Dense") {
    if (position < 2 || model.normalize) return misplaced("dense layers between pooling and normalization");
    EDGE_INFER_ASSIGN(DenseConfig dense, read_dense(folder));
    model.dense.push_back(std::move(dense));
  } else if (kind == "Normalize") {
    if (position < 2) return misplaced("normalization after pooling");
    model.normalize = true;
  } else if (kind != "Dropout") {  // which does nothing outside of training
    return fail(ErrorCode::kUnsupported,
                "{}: found module {}, expected Transformer, Pooling, Dense, Normalize or Dropout",
                module.label(), quote(type));
  }
  return {};
}

Status read_modules(const fs::path& file, SentenceModel& model) {
  const fs::path dir = file.parent_path();
  EDGE_INFER_ASSIGN(const auto modules, read_json_array(file));
  if (modules.size() < 2 || modules.size() > kMaxModules)
    return fail(ErrorCode::kCorruption,
                "\"{}\": found {} modules, expected a transformer, pooling and what follows", file.native(),
                modules.size());
  for (size_t i = 0; i < modules.size(); ++i)
    EDGE_INFER_RETURN_IF_ERROR(add_module(dir, modules[i], i, model));
  return {};
}

constexpr std::string_view kPromptsFile = "config_sentence_transformers.json";
// sentence_bert_config.json under all of the names it has had.
constexpr std::array<std::string_view, 7> kTransformerOptionFiles = {
    "sentence_bert_config.json",      "sentence_roberta_config.json", "sentence_distilbert_config.json",
    "sentence_camembert_config.json", "sentence_albert_config.json",  "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

Status read_transformer_options(SentenceModel& model) {
  for (const std::string_view name : kTransformerOptionFiles) {
    const fs::path file = model.transformer_dir / name;
    if (!is_there(file)) continue;
    EDGE_INFER_ASSIGN(const JsonObject config, JsonObject::read(file));
    if (config.has("max_seq_length")) {
      EDGE_INFER_ASSIGN(model.max_seq_length, config.integer("max_seq_length", {1, INT32_MAX}));
    }
    EDGE_INFER_ASSIGN(model.do_lower_case, config.boolean_or("do_lower_case", false));
    return {};
  }
  return {};
}

Status read_prompts(const fs::path& dir, SentenceModel& model) {
  const fs::path file = dir / kPromptsFile;
  if (!is_there(file)) return {};
  EDGE_INFER_ASSIGN(const JsonObject config, JsonObject::read(file));
  EDGE_INFER_ASSIGN(model.similarity, config.text_or("similarity_fn_name", "cosine"));
  EDGE_INFER_ASSIGN(model.default_prompt_name, config.text_or("default_prompt_name", ""));
  if (config.has("prompts")) {
    EDGE_INFER_ASSIGN(const JsonObject prompts, config.object("prompts"));
    for (const auto& [name, value] : prompts.json().items()) {
      EDGE_INFER_ASSIGN(std::string text, prompts.text_or(name, ""));
      model.prompts.emplace(name, std::move(text));
    }
  }
  if (!model.default_prompt_name.empty() && !model.prompts.contains(model.default_prompt_name))
    return fail(ErrorCode::kCorruption,
                "{}: member \"default_prompt_name\": found {}, expected a name in \"prompts\"",
                config.label(), quote(model.default_prompt_name));
  return {};
}

// What is not read may be what its author meant to hold.
void warn_of_unread(const fs::path& dir) {
  const auto warn = [&](std::string_view name) {
    if (is_there(dir / name))
      log_warning(
          "\"{}\" is not read: there is no modules.json beside it, and sentence-transformers reads it only "
          "then",
          (dir / name).native());
  };
  for (const std::string_view name : kTransformerOptionFiles) warn(name);
  warn(kPromptsFile);
}

Status check_dense_chain(const SentenceModel& model) {
  if (model.dense.empty() || !model.pooling.dimension) return {};
  int64_t width = *model.pooling.dimension * static_cast<int64_t>(model.pooling.modes.size());
  for (const DenseConfig& dense : model.dense) {
    if (dense.in_features != width)
      return fail(ErrorCode::kCorruption,
                  "\"{}\": member \"in_features\": found {}, expected {} of the module before",
                  (dense.dir / "config.json").native(), dense.in_features, width);
    width = dense.out_features;
  }
  return {};
}

}  // namespace

std::string_view pooling_mode_name(PoolingMode mode) {
  return std::ranges::find(kModes, mode, &ModeNames::mode)->name;
}

std::string_view dense_activation_name(DenseActivation activation) {
  switch (activation) {
    case DenseActivation::kIdentity:
      return "identity";
    case DenseActivation::kTanh:
      return "tanh";
    case DenseActivation::kRelu:
      return "relu";
    case DenseActivation::kGelu:
      return "gelu";
    case DenseActivation::kSilu:
      return "silu";
    case DenseActivation::kSigmoid:
      return "sigmoid";
    case DenseActivation::kLeakyRelu:
      return "leaky_relu";
    case DenseActivation::kRelu6:
      return "relu6";
    case DenseActivation::kMish:
      return "mish";
  }
  return "unknown";
}

Result<std::string> find_prompt(const SentenceModel& model, std::optional<std::string_view> name) {
  const std::string_view key = name.value_or(model.default_prompt_name);
  if (key.empty()) return std::string();
  if (const auto found = model.prompts.find(key); found != model.prompts.end()) return found->second;
  std::string known;
  for (const auto& [other, text] : model.prompts) known += (known.empty() ? "" : ", ") + quote(other);
  return fail(ErrorCode::kNotFound, "the model has no prompt {}; it has: {}", quote(key),
              known.empty() ? "none" : known);
}

Result<SentenceModel> read_sentence_model(const fs::path& dir) {
  SentenceModel model;
  model.transformer_dir = dir;
  const fs::path modules = dir / "modules.json";
  if (!is_there(modules)) {
    warn_of_unread(dir);
    return model;
  }
  EDGE_INFER_RETURN_IF_ERROR(read_modules(modules, model));
  EDGE_INFER_RETURN_IF_ERROR(read_transformer_options(model));
  EDGE_INFER_RETURN_IF_ERROR(read_prompts(dir, model));
  EDGE_INFER_RETURN_IF_ERROR(check_dense_chain(model));
  return model;
}

}  // namespace edge_infer
