#include "models/model_embedder.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "compiler/codegen/registry.h"
#include "compiler/graph_entry_builder.h"
#include "models/fingerprint.h"
#include "models/gate_sample.h"
#include "models/hub/model_directory.h"
#include "runtime/base/cpu.h"
#include "runtime/base/log.h"
#include "runtime/base/paths.h"
#include "runtime/device/registry.h"
#include "runtime/executor/team.h"

namespace edge_infer {
namespace {

// Calls that an accelerator is given at a time: while it computes one, the next is put together.
constexpr size_t kCallsAhead = 2;
// Texts below which tokenizing is not worth a team.
constexpr size_t kParallelTexts = 32;

// "auto" is what is fastest here among the precisions whose vectors keep their quality (docs/precision.md).
Result<CallSettings> settings_of(const std::string& precision, const EntryCompilation& compilation) {
  CallSettings settings;
  if (precision.empty())
    return settings_of(compilation.accelerator.compiles() ? "auto" : "fp32", compilation);
  const DType fastest =
      compilation.compiles() ? compilation.preferred().generator->fastest_precision() : DType::kF32;
  if (precision == "bf16" || (precision == "auto" && fastest == DType::kBF16))
    settings.precision = CallSettings::Precision::kBF16;
  else if (precision == "fp16" || (precision == "auto" && fastest == DType::kF16))
    settings.precision = CallSettings::Precision::kF16;
  else if (precision != "fp32" && precision != "auto")
    return fail(ErrorCode::kInvalidArgument, "unknown precision \"{}\", expected fp32, fp16, bf16 or auto",
                precision);
  if (settings.precision == CallSettings::Precision::kF16 && compilation.compiles() &&
      compilation.preferred().generator->accumulation_class(DType::kF16).empty())
    return fail(ErrorCode::kUnsupported, "{} has no fp16 products; there are fp32 and bf16",
                compilation.preferred().generator->target());
  return settings;
}

// One text of one token: what every entry of an embedder serves.
struct SmallestCall {
  int32_t ids[1] = {0}, cu[2] = {0, 1};
  int64_t ids_size[1] = {1}, cu_size[1] = {2};
  TensorView inputs[2] = {{ids, DType::kI32, ids_size}, {cu, DType::kI32, cu_size}};
};

}  // namespace

Result<std::unique_ptr<Embedder>> Embedder::open(const std::string& model, const EmbedderOptions& options) {
  EDGE_INFER_ASSIGN(const std::filesystem::path dir, resolve_model(model));
  EDGE_INFER_ASSIGN(std::unique_ptr<ModelEmbedder> embedder, ModelEmbedder::open(dir, options));
  return std::unique_ptr<Embedder>(std::move(embedder));
}

Result<std::unique_ptr<ModelEmbedder>> ModelEmbedder::open(const std::filesystem::path& dir,
                                                           const EmbedderOptions& options) {
  EDGE_INFER_ASSIGN(std::shared_ptr<const Device> device, open_device(options.device));
  EDGE_INFER_ASSIGN(ModelDirectory directory, ModelDirectory::open(dir));
  EDGE_INFER_ASSIGN(WeightStore weights, WeightStore::open(directory.transformer_dir()));
  std::vector<WeightStore> dense;
  for (const DenseConfig& d : directory.sentence().dense) {
    EDGE_INFER_ASSIGN(WeightStore store, WeightStore::open(d.dir));
    dense.push_back(std::move(store));
  }
  std::unique_ptr<ModelEmbedder> e(
      new ModelEmbedder(std::move(directory), std::move(weights), std::move(dense)));
  e->device_ = std::move(device);
  e->cache_dir_ = options.cache_dir.empty() ? default_cache_dir() : options.cache_dir;
  EDGE_INFER_ASSIGN(EntryCompilation compilation, e->open_compilation(options));
  EDGE_INFER_ASSIGN(e->settings_, settings_of(options.precision, compilation));
  e->threads_ = options.threads > 0 ? std::min(options.threads, worker_budget()) : worker_budget();
  EDGE_INFER_ASSIGN(SentenceGraph sentence, build_sentence_graph(e->directory_, e->weights_, e->dense_));
  e->dimensions_ = sentence.dimensions;
  e->vocabulary_ = sentence.vocabulary;
  const int64_t own = e->directory_.max_seq_length();
  const int64_t longest = std::min({own > 0 ? own : sentence.positions, sentence.positions, kMaxBatchTokens});
  if (options.max_length > sentence.positions)
    return fail(ErrorCode::kInvalidArgument, "max length {} is beyond the model's {} positions",
                options.max_length, sentence.positions);
  e->max_length_ = options.max_length > 0 ? options.max_length : longest;
  TokenizerOptions tokenizer_options;
  tokenizer_options.cache_dir = e->cache_dir_;
  tokenizer_options.force_lower_case = e->directory_.sentence().do_lower_case;
  EDGE_INFER_ASSIGN(e->tokenizer_, Tokenizer::load(e->directory_.transformer_dir(), tokenizer_options));
  if (e->tokenizer_->vocabulary_size() > e->vocabulary_)
    return fail(ErrorCode::kCorruption,
                "\"{}\": tokenizer.json has ids up to {}, but the model embeds only {}", dir.native(),
                e->tokenizer_->vocabulary_size() - 1, e->vocabulary_);
  if (e->max_length_ < e->tokenizer_->special_tokens())
    return fail(ErrorCode::kInvalidArgument, "max length {} leaves no room for the {} special tokens",
                e->max_length_, e->tokenizer_->special_tokens());
  e->constants_ = std::make_shared<ModelConstants>(e->weights_, e->dense_, e->cache_dir_);
  if (e->settings_.precision != CallSettings::Precision::kF32)
    compilation.gate = e->make_gate(options.precision, sentence.positions);
  e->module_ = std::make_unique<Module>(
      std::make_unique<GraphEntryBuilder>(std::move(sentence.graph), e->constants_, std::move(compilation)));
  // Build the entry now, so that what is wrong with the model is said by open().
  const SmallestCall call;
  EDGE_INFER_RETURN_IF_ERROR(e->module_->open(call.inputs, e->settings_));
  return e;
}

Result<EntryCompilation> ModelEmbedder::open_compilation(const EmbedderOptions& options) {
  const auto site = [&](std::shared_ptr<const Device> device) {
    CompileSite result;
    if (!options.eager)
      if (Result<TargetCompiler> target = open_compiler(device->target().name)) {
        result.generator = std::move(target->generator);
        result.compiler = std::move(target->compiler);
      }
    result.device = std::move(device);
    return result;
  };
  EntryCompilation compilation;
  compilation.eager = options.eager;
  compilation.max_autotune = options.max_autotune;
  if (device_->target().has_prebuilt) {
    compilation.host = site(device_);
  } else {
    EDGE_INFER_ASSIGN(std::shared_ptr<const Device> host, open_host_device());
    compilation.host = site(std::move(host));
    compilation.accelerator = site(device_);
  }
  if (options.eager) return compilation;
  compilation.cache = KernelCache::open({.dir = cache_dir_});
  cache_ = compilation.cache;
  return compilation;
}

PrecisionGate ModelEmbedder::make_gate(const std::string& precision, int64_t positions) const {
  // The gate may be asked while this is being closed, so it holds what outlives the module.
  return {.sample = gate_sample(*tokenizer_, positions),
          .weights =
              [this, dimensions = dimensions_, cache_dir = cache_dir_] {
                return model_fingerprint(directory_, weights_, dense_, dimensions, cache_dir);
              },
          .named = !precision.empty() && precision != "auto"};
}

Status ModelEmbedder::prepare() const {
  const SmallestCall call;
  return module_->prepare(call.inputs, settings_);
}

bool ModelEmbedder::is_compiled() const {
  return std::ranges::all_of(module_->entries(), [](const auto& entry) {
    return std::ranges::any_of(entry->program->program().kernels,
                               [](const KernelRef& k) { return k.name.starts_with("kernel:"); });
  });
}

const EmbeddingSpace& ModelEmbedder::space() const {
  std::call_once(space_once_, [this] {
    space_ = {directory_.path().native(),
              model_fingerprint(directory_, weights_, dense_, dimensions_, cache_dir_), dimensions_};
  });
  return space_;
}

Result<std::string> ModelEmbedder::prompt(std::string_view name) const {
  const SentenceModel& s = directory_.sentence();
  if (name.empty()) {
    if (s.default_prompt_name.empty()) return std::string();
    name = s.default_prompt_name;
  }
  const auto found = s.prompts.find(name);
  if (found != s.prompts.end()) return found->second;
  std::string known;
  for (const auto& [key, text] : s.prompts) known += (known.empty() ? "" : ", ") + quote(key);
  return fail(ErrorCode::kNotFound, "the model has no prompt {}; it has: {}", quote(name),
              known.empty() ? "none" : known);
}

std::string ModelEmbedder::role_prompt(std::string_view role) const {
  const SentenceModel& s = directory_.sentence();
  const auto lookup = [&](std::string_view name) -> const std::string* {
    const auto found = s.prompts.find(name);
    return found != s.prompts.end() ? &found->second : nullptr;
  };
  if (const std::string* text = lookup(role)) return *text;
  // E5 and BGE call a document's prompt "passage".
  if (role == "document")
    if (const std::string* text = lookup("passage")) return *text;
  const std::string* fallback = s.default_prompt_name.empty() ? nullptr : lookup(s.default_prompt_name);
  return fallback != nullptr ? *fallback : std::string();
}

Result<Graph> ModelEmbedder::graph() const {
  EDGE_INFER_ASSIGN(SentenceGraph sentence, build_sentence_graph(directory_, weights_, dense_));
  return std::move(sentence.graph);
}

Status ModelEmbedder::check(std::span<const std::span<const int32_t>> texts, std::span<float> out) const {
  if (out.size() != texts.size() * static_cast<size_t>(dimensions_))
    return fail(ErrorCode::kInvalidArgument, "room for {} numbers given, expected {} texts x {}", out.size(),
                texts.size(), dimensions_);
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto length = static_cast<int64_t>(texts[i].size());
    if (length == 0) return fail(ErrorCode::kInvalidArgument, "text {} has no tokens", i);
    if (length > max_length_)
      return fail(ErrorCode::kInvalidArgument, "text {} has {} tokens, expected at most {}", i, length,
                  max_length_);
    for (const int32_t id : texts[i])
      if (id < 0 || id >= vocabulary_)
        return fail(ErrorCode::kInvalidArgument, "text {} has token id {}, expected 0..{}", i, id,
                    vocabulary_ - 1);
  }
  return {};
}

std::vector<ModelEmbedder::Pack> ModelEmbedder::make_packs(std::span<const std::span<const int32_t>> texts,
                                                           int64_t tokens) {
  std::vector<Pack> packs;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto length = static_cast<int64_t>(texts[i].size());
    if (packs.empty() || packs.back().tokens + length > tokens) packs.push_back({i, 0, 0});
    ++packs.back().count;
    packs.back().tokens += length;
  }
  return packs;
}

Result<std::unique_ptr<BatchBlock>> ModelEmbedder::take_block(int64_t tokens, int64_t sequences) const {
  const int64_t units = tokens / device_->target().attention_block_rows + sequences;
  {
    const std::lock_guard lock(blocks_mutex_);
    for (auto& block : blocks_) {
      const BatchCapacity& c = block->capacity();
      if (c.tokens < tokens || c.sequences < sequences || c.units < units) continue;
      std::swap(block, blocks_.back());
      auto taken = std::move(blocks_.back());
      blocks_.pop_back();
      return taken;
    }
  }
  // Generous, so that blocks of a few sizes serve every call.
  const int64_t room = std::max(tokens, device_->target().pack_tokens);
  BatchCapacity capacity;
  capacity.tokens = capacity.sequences = static_cast<int32_t>(room);
  capacity.units = static_cast<int32_t>(2 * room);
  return std::make_unique<BatchBlock>(capacity);
}

Status ModelEmbedder::run_pack(std::span<const std::span<const int32_t>> texts, std::span<float> out,
                               int workers) const {
  int64_t tokens = 0;
  for (const auto& text : texts) tokens += static_cast<int64_t>(text.size());
  EDGE_INFER_ASSIGN(std::unique_ptr<BatchBlock> block,
                    take_block(tokens, static_cast<int64_t>(texts.size())));
  Status status = block->fill(texts, device_->target().attention_block_rows);
  if (status) {
    const std::span<int32_t> ids = block->ids(), cu = block->offsets();
    const int64_t ids_size[1] = {static_cast<int64_t>(ids.size())},
                  cu_size[1] = {static_cast<int64_t>(cu.size())};
    const int64_t out_size[2] = {static_cast<int64_t>(texts.size()), dimensions_};
    const TensorView inputs[] = {{ids.data(), DType::kI32, ids_size}, {cu.data(), DType::kI32, cu_size}};
    const TensorView outputs[] = {{out.data(), DType::kF32, out_size}};
    status = module_->run(inputs, outputs, settings_, workers);
    if (status && !std::all_of(out.begin(), out.end(), [](float v) { return std::isfinite(v); }))
      status = fail(ErrorCode::kCorruption, "\"{}\": the model's weights give numbers that are not finite",
                    directory_.path().native());
  }
  const std::lock_guard lock(blocks_mutex_);
  blocks_.push_back(std::move(block));
  return status;
}

Status ModelEmbedder::embed_tokens(std::span<const std::span<const int32_t>> texts,
                                   std::span<float> out) const {
  EDGE_INFER_RETURN_IF_ERROR(check(texts, out));
  const std::vector<Pack> packs = make_packs(texts, device_->target().pack_tokens);
  const auto width = static_cast<size_t>(dimensions_);
  const auto run = [&](const Pack& p, int workers) {
    return run_pack(texts.subspan(p.first, p.count), out.subspan(p.first * width, p.count * width), workers);
  };
  const bool takes_workers = device_->target().splits_rows;
  const size_t most = takes_workers ? static_cast<size_t>(threads_) : kCallsAhead;
  const int lanes = static_cast<int>(std::min(packs.size(), most));
  if (lanes <= 1 || (takes_workers && packs.size() < 2 * static_cast<size_t>(lanes))) {
    for (const Pack& p : packs) EDGE_INFER_RETURN_IF_ERROR(run(p, threads_));
    return {};
  }
  // Many packs: a pack a worker beats all workers on one pack after the other (no barriers, own caches).
  const WorkerShare share(lanes);
  std::atomic<size_t> next{0};
  std::vector<Status> statuses(static_cast<size_t>(share.workers()));
  auto body = [&](int worker) {
    for (size_t i = next.fetch_add(1); i < packs.size(); i = next.fetch_add(1)) {
      Status status = run(packs[i], 1);
      if (!status) {
        statuses[static_cast<size_t>(worker)] = std::move(status);
        next.store(packs.size());
      }
    }
  };
  run_team(share.workers(), body);
  for (Status& status : statuses)
    if (!status) return std::move(status);
  return {};
}

void ModelEmbedder::tokenize(std::span<const std::string> texts, std::string_view prompt_text,
                             std::span<Encoding> out) const {
  const auto encode = [&](size_t i) {
    if (prompt_text.empty()) {
      tokenizer_->encode(texts[i], max_length_, out[i]);
      return;
    }
    std::string joined(prompt_text);
    joined += texts[i];
    tokenizer_->encode(joined, max_length_, out[i]);
  };
  if (texts.size() < kParallelTexts || threads_ == 1) {
    for (size_t i = 0; i < texts.size(); ++i) encode(i);
    return;
  }
  const WorkerShare share(threads_);
  std::atomic<size_t> next{0};
  auto body = [&](int) {
    constexpr size_t kBlock = 16;
    for (size_t i = next.fetch_add(kBlock); i < texts.size(); i = next.fetch_add(kBlock))
      for (size_t j = i; j < std::min(i + kBlock, texts.size()); ++j) encode(j);
  };
  run_team(share.workers(), body);
}

Result<std::vector<float>> ModelEmbedder::embed(std::span<const std::string> texts,
                                                std::string_view prompt_text,
                                                std::vector<Encoding>* encodings) const {
  if (!prompt_text.empty() && !directory_.sentence().pooling.include_prompt)
    return fail(ErrorCode::kUnsupported,
                "the model leaves its prompt out of pooling (include_prompt is false)");
  std::vector<Encoding> own;
  std::vector<Encoding>& tokens = encodings != nullptr ? *encodings : own;
  tokens.resize(texts.size());
  tokenize(texts, prompt_text, tokens);
  std::vector<std::span<const int32_t>> ids;
  ids.reserve(tokens.size());
  for (const Encoding& e : tokens) ids.emplace_back(e.ids);
  std::vector<float> out(texts.size() * static_cast<size_t>(dimensions_));
  EDGE_INFER_RETURN_IF_ERROR(embed_tokens(ids, out));
  return out;
}

}  // namespace edge_infer
