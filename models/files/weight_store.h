// The weights of a model directory: model.safetensors, or the shards that model.safetensors.index.json lists.
// Immutable after open, so any thread may read it; views live as long as the store.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/files/safetensors.h"

namespace edge_infer {

struct WeightView {
  DType dtype = DType::kF32;
  std::span<const int64_t> shape;
  std::span<const std::byte> bytes;  // row-major; see SafetensorsEntry about alignment
};

class WeightStore {
 public:
  // Opens the weights below `dir`. Pickled files (pytorch_model.bin) are never read.
  // Errors: kNotFound (none there, or a shard missing), kUnsupported (only pickled weights), kCorruption.
  static Result<WeightStore> open(const std::filesystem::path& dir);

  bool has(std::string_view name) const { return entry(name) != nullptr; }
  // Errors: kNotFound, kUnsupported (a dtype that nothing here computes with); both name tensor and folder.
  Result<WeightView> find(std::string_view name) const;
  // find() that also demands a floating-point dtype and exactly this shape. Errors: also kCorruption with
  // both shapes.
  Result<WeightView> find_weight(std::string_view name, std::span<const int64_t> shape) const;
  Result<WeightView> find_weight(std::string_view name, std::initializer_list<int64_t> shape) const {
    return find_weight(name, std::span(shape.begin(), shape.size()));
  }

  // The files, in the order of their names: what a fingerprint hashes.
  const std::vector<SafetensorsFile>& files() const { return files_; }
  // All names, sorted.
  std::vector<std::string_view> names() const;

 private:
  const SafetensorsEntry* entry(std::string_view name) const;
  Status open_shards(const std::filesystem::path& index);

  std::filesystem::path dir_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, size_t, std::less<>> file_of_;  // tensor -> index into files_
};

}  // namespace edge_infer
