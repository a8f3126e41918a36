#include "apps/pull/hub_model.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

namespace edge_infer {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 11> kRootFiles = {"config.json",
                                                         "tokenizer.json",
                                                         "tokenizer_config.json",
                                                         "vocab.txt",
                                                         "special_tokens_map.json",
                                                         "modules.json",
                                                         "sentence_bert_config.json",
                                                         "config_sentence_transformers.json",
                                                         "model.safetensors",
                                                         "model.safetensors.index.json",
                                                         "added_tokens.json"};
constexpr size_t kMaxFiles = 1000;

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// model-00001-of-00003.safetensors
bool is_shard(std::string_view name) {
  constexpr std::string_view kBegin = "model-", kMiddle = "-of-", kEnd = ".safetensors";
  return name.size() == kBegin.size() + 5 + kMiddle.size() + 5 + kEnd.size() && name.starts_with(kBegin) &&
         all_digits(name.substr(6, 5)) && name.substr(11, 4) == kMiddle && all_digits(name.substr(15, 5)) &&
         name.ends_with(kEnd);
}

// 1_Pooling/config.json
bool is_module_file(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view folder = name.substr(0, slash), file = name.substr(slash + 1);
  const size_t underscore = folder.find('_');
  if (underscore == std::string_view::npos || underscore > 3 || !all_digits(folder.substr(0, underscore)))
    return false;
  const std::string_view kind = folder.substr(underscore + 1);
  if (kind == "Pooling" || kind == "Normalize") return file == "config.json";
  if (kind == "Dense") return file == "config.json" || file == "model.safetensors";
  return false;
}

bool is_pickle(const HubFile& file) {
  return file.name.starts_with("pytorch_model") && file.name.ends_with(".bin");
}

const HubFile* find_file(const std::vector<HubFile>& files, std::string_view name) {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const HubFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

std::string text_member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
         });
}

bool is_allowed_file(std::string_view name) {
  return std::find(kRootFiles.begin(), kRootFiles.end(), name) != kRootFiles.end() || is_shard(name) ||
         is_module_file(name);
}

bool is_weights(std::string_view name) {
  return name.ends_with(".safetensors");
}

bool has_checksum(const HubFile& file) {
  return !file.sha256.empty() || !file.git_sha1.empty();
}

Result<HubModel> parse_hub_model(const std::string& text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto siblings = json.is_object() ? json.find("siblings") : json.end();
  if (!json.is_object() || siblings == json.end() || !siblings->is_array())
    return fail(ErrorCode::kCorruption,
                "the hub's answer about \"{}\" is no JSON object with a list \"siblings\"", name);
  HubModel model;
  model.revision = text_member(json, "sha");
  if (!is_hex(model.revision, 40)) model.revision = kUnknownRevision;
  std::set<std::string> seen;
  for (const Json& entry : *siblings) {
    if (!entry.is_object()) continue;
    HubFile file;
    file.name = text_member(entry, "rfilename");
    if (file.name.empty() || !seen.insert(file.name).second) continue;
    if (const auto size = entry.find("size"); size != entry.end() && size->is_number_unsigned())
      file.size = size->get<uint64_t>();
    if (const auto id = text_member(entry, "blobId"); is_hex(id, 40)) file.git_sha1 = id;
    if (const auto lfs = entry.find("lfs"); lfs != entry.end() && lfs->is_object()) {
      // The blob id of a large file is its pointer's.
      file.git_sha1.clear();
      if (const auto hash = text_member(*lfs, "sha256"); is_hex(hash, 64)) file.sha256 = hash;
      if (const auto size = lfs->find("size"); size != lfs->end() && size->is_number_unsigned())
        file.size = size->get<uint64_t>();
    }
    model.files.push_back(std::move(file));
  }
  return model;
}

Result<std::vector<HubFile>> choose_files(const HubModel& model, const std::string& name,
                                          uint64_t size_limit) {
  const bool whole = find_file(model.files, "model.safetensors") != nullptr;
  const bool sharded = !whole && find_file(model.files, "model.safetensors.index.json") != nullptr;
  if (find_file(model.files, "config.json") == nullptr)
    return fail(ErrorCode::kUnsupported, "\"{}\" has no config.json: not a transformers model", name);
  if (!whole && !sharded) {
    const auto pickle = std::find_if(model.files.begin(), model.files.end(), is_pickle);
    return fail(
        ErrorCode::kUnsupported, "\"{}\" has no model.safetensors{}", name,
        pickle == model.files.end()
            ? ""
            : fmt::format("; its {} is a pickle, which can run code and is not fetched", pickle->name));
  }
  if (find_file(model.files, "tokenizer.json") == nullptr && find_file(model.files, "vocab.txt") == nullptr)
    return fail(ErrorCode::kUnsupported, "\"{}\" has neither tokenizer.json nor vocab.txt", name);
  std::vector<HubFile> chosen;
  uint64_t total = 0;
  for (const HubFile& file : model.files) {
    if (!is_allowed_file(file.name)) continue;
    if (!sharded && (is_shard(file.name) || file.name == "model.safetensors.index.json")) continue;
    const uint64_t size = file.size.value_or(0);
    if (size > size_limit - total)
      return fail(ErrorCode::kResourceExhausted, "the files of \"{}\" have more than {} bytes, the limit",
                  name, size_limit);
    total += size;
    chosen.push_back(file);
  }
  if (chosen.size() > kMaxFiles)
    return fail(ErrorCode::kResourceExhausted, "\"{}\" has {} files, at most {} are fetched", name,
                chosen.size(), kMaxFiles);
  std::stable_partition(chosen.begin(), chosen.end(),
                        [](const HubFile& file) { return !is_weights(file.name); });
  return chosen;
}

Result<std::vector<std::string>> index_shards(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object())
    return fail(ErrorCode::kCorruption, "model.safetensors.index.json has no object \"weight_map\"");
  std::set<std::string> names;
  for (const Json& value : *map) {
    if (!value.is_string() || !is_shard(value.get_ref<const std::string&>()))
      return fail(ErrorCode::kCorruption, "model.safetensors.index.json names {}, which is no shard",
                  value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80));
    names.insert(value.get<std::string>());
  }
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace edge_infer
