// The Embedder of a model directory: files, graph, module and tokenizer put together.
#pragma once

#include <mutex>

#include "compiler/entry_compilation.h"
#include "models/embedder.h"
#include "models/files/model_config.h"
#include "models/files/weight_store.h"
#include "models/pack_runner.h"
#include "models/packing/model_constants.h"
#include "models/query_route.h"
#include "models/sentence_graph.h"
#include "runtime/module.h"

namespace edge_infer {

class ModelEmbedder final : public Embedder {
 public:
  static Result<std::unique_ptr<ModelEmbedder>> open(const std::filesystem::path& dir,
                                                     const EmbedderOptions& options);

  Status prepare() const override;
  bool settle(std::chrono::milliseconds limit) const override;

  std::shared_ptr<EntryPin> pin() const override;

  int64_t dimensions() const override { return dimensions_; }
  int64_t max_length() const override { return max_length_; }
  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  const EmbeddingSpace& space() const override;
  Result<std::string> prompt(std::string_view name) const override;
  std::string role_prompt(std::string_view role) const override;
  int64_t max_batch_tokens() const override { return kMaxBatchTokens; }
  int64_t bulk_tokens() const override;
  int waiting_calls() const override;
  Status embed_tokens(std::span<const std::span<const int32_t>> texts, std::span<float> out,
                      EntryPin* pin = nullptr) const override;
  Result<std::vector<float>> embed(std::span<const std::string> texts, std::string_view prompt_text,
                                   std::vector<Encoding>* encodings, EntryPin* pin = nullptr) const override;
  Result<std::vector<float>> embed_query(const std::string& text,
                                         std::string_view prompt_text) const override;

  // For explain and bench.
  const Module& module() const { return *module_; }
  const ModelConstants& constants() const { return *constants_; }
  const Device& device() const { return *device_; }
  const CallSettings& settings() const { return settings_; }
  // The device with what compiles for it.
  CompileSite site(const TargetCompiler& target) const {
    return {device_, target.generator, target.compiler};
  }
  // Whether compiled kernels serve (all entries).
  bool is_compiled() const;
  // Null where there is nothing to choose: one device, or one that was named.
  const QueryRoute* query_route() const { return route_.get(); }
  KernelCache* cache() const { return cache_.get(); }
  // The captured graph, built anew from the directory.
  Result<Graph> graph() const;
  int threads() const { return threads_; }

 private:
  ModelEmbedder(ModelDirectory directory, WeightStore weights, std::vector<WeightStore> dense)
      : directory_(std::move(directory)), weights_(std::move(weights)), dense_(std::move(dense)) {}
  Result<EntryCompilation> open_compilation(const EmbedderOptions& options);
  void open_query_route(const CompileSite& host, std::string identity, const PackRunnerOptions& packs);
  bool accelerator_answers() const;
  PrecisionGate make_gate(int64_t positions) const;
  Status check(std::span<const std::span<const int32_t>> texts, std::span<float> out) const;
  Status check_prompt(std::string_view prompt_text) const;
  Status check_text(std::span<const int32_t> text, size_t number) const;
  void tokenize(const std::string& text, std::string_view prompt_text, Encoding& out) const;

  ModelDirectory directory_;
  WeightStore weights_;
  std::vector<WeightStore> dense_;
  std::shared_ptr<ModelConstants> constants_;
  std::shared_ptr<KernelCache> cache_;  // null in eager mode
  std::shared_ptr<const Device> device_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<Tokenizer> tokenizer_;
  CallSettings settings_;
  int64_t dimensions_ = 0, max_length_ = 0, vocabulary_ = 0;
  int threads_ = 1;
  std::filesystem::path cache_dir_;
  mutable std::once_flag space_once_;
  mutable EmbeddingSpace space_;
  std::unique_ptr<PackRunner> runner_;
  std::unique_ptr<QueryRoute> route_;
  mutable std::mutex pin_mutex_;
  mutable std::shared_ptr<EntryPin> pin_;  // of the entry that serves at present
};

}  // namespace edge_infer
