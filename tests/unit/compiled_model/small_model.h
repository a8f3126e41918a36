// A BERT of two layers and 32 dimensions with random weights, tokenized as the real model is: compiled in a
// moment, and its calls take microseconds.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "models/model_embedder.h"

namespace edge_infer::test {

constexpr size_t kSmallWidth = 32;

// Writes the model's files; the tokenizer's are copied from the directory `real`.
void write_small_model(const std::filesystem::path& dir, const std::filesystem::path& real);

// Opens and, where `prepared`, waits for the compiled kernels. Fails the test where that fails.
std::unique_ptr<ModelEmbedder> open_model(const std::filesystem::path& model,
                                          const std::filesystem::path& cache, EmbedderOptions options = {},
                                          bool prepared = true);

// Names of the compiled kernels of all entries.
std::set<std::string> kernels_of(const ModelEmbedder& model);

// Ids of a text of `length` tokens; the same for the same seed.
std::vector<int32_t> some_ids(size_t length, unsigned seed);
// Vectors of texts in one call.
std::vector<float> vectors_of(const ModelEmbedder& model, const std::vector<std::vector<int32_t>>& texts);
// Of a fixed handful of texts, for comparisons between processes.
std::vector<float> sample_vectors(const ModelEmbedder& model);

}  // namespace edge_infer::test
