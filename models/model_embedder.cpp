#include "models/model_embedder.h"

#include <algorithm>
#include <utility>

#include "compiler/codegen/registry.h"
#include "compiler/graph_entry_builder.h"
#include "models/cost.h"
#include "models/fingerprint.h"
#include "models/gate_sample.h"
#include "models/hub/model_directory.h"
#include "runtime/base/cpu.h"
#include "runtime/base/log.h"
#include "runtime/base/paths.h"
#include "runtime/device/registry.h"

namespace edge_infer {
namespace {

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

// Attention's work for a (query, key) pair in units of the other work for a token.
double pair_cost(const Graph& graph) {
  const auto flops = [&](int64_t length) { return graph_flops(graph, std::span(&length, 1)); };
  const double one = flops(1), two = flops(2), three = flops(3);
  const double pair = (three - 2 * two + one) / 2, token = two - one - 3 * pair;
  return token > 0 ? pair / token : 0;
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
  PackRunnerOptions packs{dir.native(), e->dimensions_, e->threads_};
  // Elsewhere packs are small, and the start is short.
  if (!e->device_->target().splits_rows) packs.pair_cost = pair_cost(sentence.graph);
  e->constants_ = std::make_shared<ModelConstants>(e->weights_, e->dense_, e->cache_dir_);
  if (e->settings_.precision != CallSettings::Precision::kF32)
    compilation.gate = e->make_gate(sentence.positions);
  compilation.names_precision = !options.precision.empty() && options.precision != "auto";
  // A precision that is named is meant for queries, too.
  const bool routes = options.device == "auto" && options.precision.empty() &&
                      compilation.accelerator.compiles() && compilation.host.compiles();
  const CompileSite host = compilation.host;
  std::string identity = routes ? graph_identity(sentence.graph) : "";
  e->module_ = std::make_unique<Module>(
      std::make_unique<GraphEntryBuilder>(std::move(sentence.graph), e->constants_, std::move(compilation)));
  e->runner_ = std::make_unique<PackRunner>(*e->module_, e->device_->target(), e->settings_, packs);
  // Build the entry now, so that what is wrong with the model is said by open().
  const SmallestCall call;
  EDGE_INFER_RETURN_IF_ERROR(e->module_->open(call.inputs, e->settings_));
  if (routes) e->open_query_route(host, std::move(identity), packs);
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
  EDGE_INFER_ASSIGN(compilation.mode, parse_compile_mode(options.mode));
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

PrecisionGate ModelEmbedder::make_gate(int64_t positions) const {
  // The gate may be asked while this is being closed, so it holds what outlives the module.
  return {.sample = gate_sample(*tokenizer_, positions),
          .weights = [this, dimensions = dimensions_, cache_dir = cache_dir_] {
            return model_fingerprint(directory_, weights_, dense_, dimensions, cache_dir);
          }};
}

Status ModelEmbedder::prepare() const {
  const SmallestCall call;
  EDGE_INFER_RETURN_IF_ERROR(module_->prepare(call.inputs, settings_));
  while (route_ != nullptr && !route_->settle(std::chrono::minutes(1))) {
  }
  return {};
}

bool ModelEmbedder::settle(std::chrono::milliseconds limit) const {
  const auto begin = std::chrono::steady_clock::now();
  if (!module_->finish(limit)) return false;
  if (route_ == nullptr) return true;
  const auto spent =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
  return route_->settle(std::max(limit - spent, std::chrono::milliseconds(0)));
}

bool ModelEmbedder::accelerator_answers() const {
  const auto entries = module_->entries();
  return !entries.empty() && std::ranges::all_of(entries, [&](const auto& entry) {
    return std::ranges::all_of(entry->program->program().kernels, [&](const KernelRef& kernel) {
      return device_->load_kernel(kernel.name).has_value();
    });
  });
}

void ModelEmbedder::open_query_route(const CompileSite& host, std::string identity,
                                     const PackRunnerOptions& packs) {
  const CallSettings settings;  // the processor's own: fp32
  QueryRouteOptions options;
  options.identity = fmt::format("precisions={},{};workers={};{}", static_cast<int64_t>(settings_.precision),
                                 static_cast<int64_t>(settings.precision), threads_, identity);
  options.target = device_->target().name;
  options.machine = host.device->measured_on() + ";" + device_->measured_on();
  options.cache = cache_.get();
  options.open_host = [this, host]() -> Result<std::unique_ptr<Module>> {
    EDGE_INFER_ASSIGN(Graph graph, this->graph());
    EntryCompilation compilation;
    compilation.host = host;
    compilation.cache = cache_;
    auto module = std::make_unique<Module>(
        std::make_unique<GraphEntryBuilder>(std::move(graph), constants_, std::move(compilation)));
    const SmallestCall call;
    EDGE_INFER_RETURN_IF_ERROR(module->open(call.inputs, CallSettings()));
    return module;
  };
  options.make_runner = [host, settings, packs](Module& module) {
    return std::make_unique<PackRunner>(module, host.device->target(), settings, packs);
  };
  options.device_answers = [this] { return accelerator_answers(); };
  options.time_call = [this](const PackRunner& runner, int64_t tokens) -> Result<int64_t> {
    std::vector<int32_t> ids(static_cast<size_t>(std::min(tokens, max_length_)));
    for (size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<int32_t>(static_cast<int64_t>(i) * 7 % vocabulary_);
    const std::span<const int32_t> text = ids;
    std::vector<float> out(static_cast<size_t>(dimensions_));
    const auto begin = std::chrono::steady_clock::now();
    EDGE_INFER_RETURN_IF_ERROR(runner.run(std::span(&text, 1), out));
    return std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  };
  route_ = std::make_unique<QueryRoute>(*runner_, std::move(options));
}

int64_t ModelEmbedder::bulk_tokens() const {
  return std::min(std::max(kBulkTokens, device_->target().pack_tokens), max_batch_tokens());
}

int ModelEmbedder::waiting_calls() const {
  return device_->target().splits_rows ? 0 : static_cast<int>(PackRunner::kCallsAhead);
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
  for (size_t i = 0; i < texts.size(); ++i) EDGE_INFER_RETURN_IF_ERROR(check_text(texts[i], i));
  return {};
}

Status ModelEmbedder::check_text(std::span<const int32_t> text, size_t number) const {
  const auto length = static_cast<int64_t>(text.size());
  if (length == 0) return fail(ErrorCode::kInvalidArgument, "text {} has no tokens", number);
  if (length > max_length_)
    return fail(ErrorCode::kInvalidArgument, "text {} has {} tokens, expected at most {}", number, length,
                max_length_);
  for (const int32_t id : text)
    if (id < 0 || id >= vocabulary_)
      return fail(ErrorCode::kInvalidArgument, "text {} has token id {}, expected 0..{}", number, id,
                  vocabulary_ - 1);
  return {};
}

Status ModelEmbedder::embed_tokens(std::span<const std::span<const int32_t>> texts, std::span<float> out,
                                   EntryPin* pin) const {
  EDGE_INFER_RETURN_IF_ERROR(check(texts, out));
  return runner_->run(texts, out, pin);
}

std::shared_ptr<EntryPin> ModelEmbedder::pin() const {
  const std::lock_guard lock(pin_mutex_);
  if (pin_ == nullptr || !module_->serves(*pin_)) pin_ = std::make_shared<EntryPin>();
  return pin_;
}

Status ModelEmbedder::check_prompt(std::string_view prompt_text) const {
  if (prompt_text.empty() || directory_.sentence().pooling.include_prompt) return {};
  return fail(ErrorCode::kUnsupported,
              "the model leaves its prompt out of pooling (include_prompt is false)");
}

void ModelEmbedder::tokenize(const std::string& text, std::string_view prompt_text, Encoding& out) const {
  if (prompt_text.empty()) return tokenizer_->encode(text, max_length_, out);
  std::string joined(prompt_text);
  joined += text;
  tokenizer_->encode(joined, max_length_, out);
}

Result<std::vector<float>> ModelEmbedder::embed(std::span<const std::string> texts,
                                                std::string_view prompt_text,
                                                std::vector<Encoding>* encodings, EntryPin* pin) const {
  EDGE_INFER_RETURN_IF_ERROR(check_prompt(prompt_text));
  std::vector<Encoding> own;
  std::vector<Encoding>& tokens = encodings != nullptr ? *encodings : own;
  tokens.resize(texts.size());
  std::vector<float> out(texts.size() * static_cast<size_t>(dimensions_));
  const auto encode = [&](size_t i) -> Status {
    tokenize(texts[i], prompt_text, tokens[i]);
    return check_text(tokens[i].ids, i);
  };
  const auto text = [&](size_t i) { return std::span<const int32_t>(tokens[i].ids); };
  EDGE_INFER_RETURN_IF_ERROR(runner_->run_encoding(texts.size(), encode, text, out, pin));
  return out;
}

Result<std::vector<float>> ModelEmbedder::embed_query(const std::string& text,
                                                      std::string_view prompt_text) const {
  if (route_ == nullptr || route_->threshold() == 0) return Embedder::embed_query(text, prompt_text);
  EDGE_INFER_RETURN_IF_ERROR(check_prompt(prompt_text));
  Encoding encoding;
  tokenize(text, prompt_text, encoding);
  const std::span<const int32_t> ids = encoding.ids;
  EDGE_INFER_RETURN_IF_ERROR(check_text(ids, 0));
  std::vector<float> out(static_cast<size_t>(dimensions_));
  if (const PackRunner* host = route_->choose(static_cast<int64_t>(ids.size())))
    if (host->run(std::span(&ids, 1), out)) return out;
  EDGE_INFER_RETURN_IF_ERROR(runner_->run(std::span(&ids, 1), out));
  return out;
}

}  // namespace edge_infer
