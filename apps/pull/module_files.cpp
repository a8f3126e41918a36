#include "apps/pull/module_files.h"

#include <algorithm>

#include "models/files/json.h"
#include "runtime/base/mapped_file.h"

namespace edge_infer {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxIndexBytes = size_t{32} << 20;

bool has_file(const HubModel& model, const std::string& name) {
  return std::any_of(model.files.begin(), model.files.end(),
                     [&](const HubFile& file) { return file.name == name; });
}

Status check_file(const HubModel& model, const std::string& name, const fs::path& folder, const char* file) {
  const std::string wanted = (folder / file).lexically_normal().generic_string();
  if (has_file(model, wanted)) {
    if (is_allowed_file(wanted)) return {};
    return fail(ErrorCode::kUnsupported,
                "\"{}\" needs {}, which pull does not fetch: expected the transformer in the model's own "
                "folder, modules in folders like 1_Pooling and 2_Dense",
                name, quote(wanted));
  }
  const std::string pickle = (folder / "pytorch_model.bin").lexically_normal().generic_string();
  if (fs::path(wanted).extension() == ".safetensors" && has_file(model, pickle))
    return fail(ErrorCode::kUnsupported,
                "\"{}\" has no {}; its {} is a pickle, which can run code and is not fetched", name,
                quote(wanted), quote(pickle));
  return fail(ErrorCode::kUnsupported, "\"{}\" has no {}, which its modules.json asks for", name,
              quote(wanted));
}

}  // namespace

Status check_module_files(const fs::path& dir, const HubModel& model, const std::string& name) {
  std::error_code error;
  if (!fs::exists(dir / "modules.json", error)) return {};
  EDGE_INFER_ASSIGN(const auto modules, read_json_array(dir / "modules.json"));
  for (const JsonObject& module : modules) {
    EDGE_INFER_ASSIGN(const std::string type, module.text("type"));
    EDGE_INFER_ASSIGN(const fs::path folder, module.text_or("path", ""));
    const std::string kind = type.substr(type.rfind('.') + 1);
    // choose_files() sees to the weights beside the root's config.json.
    if (kind == "Transformer" || kind == "Pooling" || kind == "Dense")
      EDGE_INFER_RETURN_IF_ERROR(check_file(model, name, folder, "config.json"));
    if (kind == "Dense") EDGE_INFER_RETURN_IF_ERROR(check_file(model, name, folder, "model.safetensors"));
  }
  return {};
}

Status check_shards(const fs::path& dir, const HubModel& model) {
  const fs::path index = dir / "model.safetensors.index.json";
  std::error_code error;
  if (!fs::exists(index, error)) return {};
  EDGE_INFER_ASSIGN(const std::string text, read_file(index, kMaxIndexBytes));
  EDGE_INFER_ASSIGN(const std::vector<std::string> shards, index_shards(text));
  for (const std::string& shard : shards)
    if (!has_file(model, shard))
      return fail(ErrorCode::kCorruption,
                  "model.safetensors.index.json names {}, which the hub does not have", shard);
  return {};
}

}  // namespace edge_infer
