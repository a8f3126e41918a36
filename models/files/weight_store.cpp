#include "models/files/weight_store.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/files/json.h"

namespace edge_infer {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxShards = 4096;

// Also true for a dangling link, whose own error is the better message.
bool is_there(const fs::path& path) {
  std::error_code error;
  const auto type = fs::symlink_status(path, error).type();
  return type != fs::file_type::not_found && type != fs::file_type::none;
}

// A shard lies beside the index; anything else could read outside of the model.
bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos && name.size() <= 255;
}

}  // namespace

Result<WeightStore> WeightStore::open(const fs::path& dir) {
  WeightStore store;
  store.dir_ = dir;
  if (const fs::path whole = dir / "model.safetensors"; is_there(whole)) {
    EDGE_INFER_ASSIGN(auto file, SafetensorsFile::open(whole));
    for (const auto& [name, entry] : file.tensors()) store.file_of_.emplace(name, 0);
    store.files_.push_back(std::move(file));
    return store;
  }
  if (const fs::path index = dir / "model.safetensors.index.json"; is_there(index)) {
    EDGE_INFER_RETURN_IF_ERROR(store.open_shards(index));
    return store;
  }
  for (const char* pickled : {"pytorch_model.bin", "pytorch_model.bin.index.json"})
    if (is_there(dir / pickled))
      return fail(ErrorCode::kUnsupported,
                  "\"{}\" has only {}, a pickled file, which can run code and is never loaded: expected "
                  "model.safetensors",
                  dir.native(), pickled);
  return fail(ErrorCode::kNotFound, "no model.safetensors or model.safetensors.index.json in \"{}\"",
              dir.native());
}

Status WeightStore::open_shards(const fs::path& index) {
  JsonLimits limits;
  limits.bytes = size_t{64} << 20;
  limits.values = size_t{2} << 20;
  limits.unique_keys = true;
  EDGE_INFER_ASSIGN(const JsonObject root, JsonObject::read(index, limits));
  EDGE_INFER_ASSIGN(const JsonObject map, root.object("weight_map"));
  std::map<std::string, size_t> shards;
  for (const auto& [tensor, file] : map.json().items()) {
    if (!file.is_string() || !is_plain_file_name(file.get_ref<const std::string&>()))
      return map.mismatch(tensor, "the name of a file beside the index");
    shards.emplace(file.get<std::string>(), 0);
  }
  if (shards.empty() || shards.size() > kMaxShards)
    return fail(ErrorCode::kCorruption, "{}: found {} files, expected 1 to {}", map.label(), shards.size(),
                kMaxShards);
  for (auto& [name, number] : shards) {
    EDGE_INFER_ASSIGN(auto file, SafetensorsFile::open(dir_ / name));
    number = files_.size();
    files_.push_back(std::move(file));
  }
  for (const auto& [tensor, file] : map.json().items()) {
    const size_t number = shards.at(file.get<std::string>());
    if (files_[number].find(tensor) == nullptr)
      return fail(ErrorCode::kCorruption, "\"{}\": tensor {} is not in \"{}\", where the index has it",
                  index.native(), quote(tensor), files_[number].path().native());
    file_of_.emplace(tensor, number);
  }
  return {};
}

const SafetensorsEntry* WeightStore::entry(std::string_view name) const {
  const auto file = file_of_.find(name);
  return file == file_of_.end() ? nullptr : files_[file->second].find(name);
}

Result<WeightView> WeightStore::find(std::string_view name) const {
  const SafetensorsEntry* found = entry(name);
  if (found == nullptr)
    return fail(ErrorCode::kNotFound, "no tensor {} in \"{}\"", quote(name), dir_.native());
  if (!found->dtype)
    return fail(ErrorCode::kUnsupported, "tensor {} in \"{}\": dtype {} is not supported", quote(name),
                dir_.native(), found->dtype_text);
  return WeightView{*found->dtype, found->shape, found->bytes};
}

Result<WeightView> WeightStore::find_weight(std::string_view name, std::span<const int64_t> shape) const {
  EDGE_INFER_ASSIGN(const WeightView view, find(name));
  if (!is_floating(view.dtype))
    return fail(ErrorCode::kCorruption, "tensor {} in \"{}\": found dtype {}, expected floating point",
                quote(name), dir_.native(), entry(name)->dtype_text);
  if (!std::ranges::equal(view.shape, shape))
    return fail(ErrorCode::kCorruption, "tensor {} in \"{}\": found shape [{}], expected [{}]", quote(name),
                dir_.native(), fmt::join(view.shape, ", "), fmt::join(shape, ", "));
  return view;
}

std::vector<std::string_view> WeightStore::names() const {
  std::vector<std::string_view> out;
  out.reserve(file_of_.size());
  for (const auto& [name, file] : file_of_) out.push_back(name);
  return out;
}

}  // namespace edge_infer
