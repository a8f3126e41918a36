// The fingerprint of an embedding space: two models with the same one give comparable vectors.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "models/files/model_config.h"
#include "models/files/weight_store.h"

namespace edge_infer {

// Hash of the weights' content, pooling, Dense modules, prompts, dimensions and normalization, as hexadecimal
// digits. The content hash of each weight file is kept in `cache_dir` under the file's stamp (empty: computed
// each time).
std::string model_fingerprint(const ModelDirectory& directory, const WeightStore& weights,
                              std::span<const WeightStore> dense, int64_t dimensions,
                              const std::filesystem::path& cache_dir);

}  // namespace edge_infer
