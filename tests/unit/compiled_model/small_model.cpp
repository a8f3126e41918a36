#include "tests/unit/compiled_model/small_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <span>

namespace edge_infer::test {
namespace {

constexpr int64_t kVocabulary = 30522, kPositions = 512, kInner = 64, kLayers = 2;
constexpr auto kDim = static_cast<int64_t>(kSmallWidth);

struct TensorSpec {
  std::string name;
  std::vector<int64_t> shape;
};

std::vector<TensorSpec> tensors() {
  std::vector<TensorSpec> specs;
  const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
    specs.push_back({name, shape});
  };
  const auto norm = [&](const std::string& name) {
    add(name + ".LayerNorm.weight", {kDim});
    add(name + ".LayerNorm.bias", {kDim});
  };
  const auto dense = [&](const std::string& name, int64_t n, int64_t k) {
    add(name + ".weight", {n, k});
    add(name + ".bias", {n});
  };
  add("embeddings.word_embeddings.weight", {kVocabulary, kDim});
  add("embeddings.position_embeddings.weight", {kPositions, kDim});
  add("embeddings.token_type_embeddings.weight", {2, kDim});
  norm("embeddings");
  for (int64_t l = 0; l < kLayers; ++l) {
    const std::string layer = fmt::format("encoder.layer.{}.", l);
    for (const char* part : {"query", "key", "value"}) dense(layer + "attention.self." + part, kDim, kDim);
    dense(layer + "attention.output.dense", kDim, kDim);
    norm(layer + "attention.output");
    dense(layer + "intermediate.dense", kInner, kDim);
    dense(layer + "output.dense", kDim, kInner);
    norm(layer + "output");
  }
  dense("pooler.dense", kDim, kDim);
  return specs;
}

void write_weights(const std::filesystem::path& file) {
  nlohmann::json header;
  size_t bytes = 0;
  for (const TensorSpec& t : tensors()) {
    const int64_t n = std::accumulate(t.shape.begin(), t.shape.end(), int64_t{1}, std::multiplies<>());
    const size_t end = bytes + static_cast<size_t>(n) * sizeof(float);
    header[t.name] = {{"dtype", "F32"}, {"shape", t.shape}, {"data_offsets", {bytes, end}}};
    bytes = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-0.3F, 0.3F);
  std::vector<float> values(bytes / sizeof(float));
  for (float& v : values) v = uniform(random);
  std::ofstream out(file, std::ios::binary);
  const uint64_t size = text.size();
  out.write(reinterpret_cast<const char*>(&size), sizeof size);
  out << text;
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(bytes));
}

}  // namespace

void write_small_model(const std::filesystem::path& dir, const std::filesystem::path& real) {
  std::filesystem::create_directories(dir / "1_Pooling");
  for (const char* file :
       {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "modules.json"})
    std::filesystem::copy_file(real / file, dir / file, std::filesystem::copy_options::overwrite_existing);
  nlohmann::json config = nlohmann::json::parse(std::ifstream(real / "config.json"));
  config["hidden_size"] = kDim;
  config["intermediate_size"] = kInner;
  config["num_attention_heads"] = 2;
  config["num_hidden_layers"] = kLayers;
  std::ofstream(dir / "config.json") << config.dump();
  std::ofstream(dir / "sentence_bert_config.json") << R"({"max_seq_length": 512, "do_lower_case": false})";
  nlohmann::json pooling = nlohmann::json::parse(std::ifstream(real / "1_Pooling" / "config.json"));
  pooling["word_embedding_dimension"] = kDim;
  std::ofstream(dir / "1_Pooling" / "config.json") << pooling.dump();
  write_weights(dir / "model.safetensors");
}

std::unique_ptr<ModelEmbedder> open_model(const std::filesystem::path& model,
                                          const std::filesystem::path& cache, EmbedderOptions options,
                                          bool prepared) {
  options.cache_dir = cache;
  auto opened = ModelEmbedder::open(model, options);
  if (!opened) {
    ADD_FAILURE() << opened.error().message;
    return nullptr;
  }
  if (prepared) {
    const Status status = (*opened)->prepare();
    EXPECT_TRUE(status) << status.error().message;
    EXPECT_TRUE((*opened)->is_compiled());
  }
  return *std::move(opened);
}

std::set<std::string> kernels_of(const ModelEmbedder& model) {
  std::set<std::string> names;
  for (const auto& entry : model.module().entries())
    for (const KernelRef& kernel : entry->program->program().kernels)
      if (kernel.name.starts_with("kernel:")) names.insert(kernel.name);
  return names;
}

std::vector<int32_t> some_ids(size_t length, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> ids(length);
  for (int32_t& id : ids) id = static_cast<int32_t>(1000 + random() % 20000);
  return ids;
}

std::vector<float> vectors_of(const ModelEmbedder& model, const std::vector<std::vector<int32_t>>& texts) {
  const std::vector<std::span<const int32_t>> spans(texts.begin(), texts.end());
  std::vector<float> out(texts.size() * static_cast<size_t>(model.dimensions()));
  const Status status = model.embed_tokens(spans, out);
  EXPECT_TRUE(status) << status.error().message;
  return out;
}

std::vector<float> sample_vectors(const ModelEmbedder& model) {
  std::vector<std::vector<int32_t>> texts;
  for (const size_t length : {1, 3, 9, 33, 120})
    texts.push_back(some_ids(length, static_cast<unsigned>(length)));
  return vectors_of(model, texts);
}

}  // namespace edge_infer::test
