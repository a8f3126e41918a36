#include "compiler/graph_entry_builder.h"

#include <chrono>
#include <utility>

#include "compiler/compile.h"
#include "compiler/dump.h"
#include "compiler/fallback/lower_fallback.h"
#include "compiler/graph/print.h"
#include "compiler/make_guards.h"
#include "compiler/obtain_kernels.h"
#include "compiler/tuned_schedule.h"
#include "runtime/base/hash.h"
#include "runtime/base/log.h"
#include "runtime/cache/entry_text.h"

namespace edge_infer {
namespace {

// Whoever asks finds out in which precision the calls of this process are answered.
void log_record(const PrecisionRecord& record, bool is_new) {
  if (record.tried.empty()) return;
  const bool lowered = record.served != record.tried.front().type;
  if (lowered && (is_new || record.named))
    log_warning("{}", record.describe());
  else if (log_topics().compile)
    log_info("{}", record.describe());
}

CallSettings::Precision setting_of(DType type) {
  if (type == DType::kF16) return CallSettings::Precision::kF16;
  return type == DType::kBF16 ? CallSettings::Precision::kBF16 : CallSettings::Precision::kF32;
}

DType asked_type(const CallSettings& settings) {
  if (settings.precision == CallSettings::Precision::kF16) return DType::kF16;
  return settings.precision == CallSettings::Precision::kBF16 ? DType::kBF16 : DType::kF32;
}

std::string program_options() {
  return fmt::format("program={}", kProgramVersion);
}

std::string settings_text(const CompileSite& site, const CallSettings& settings, DType type) {
  std::string text = fmt::format("precision={};deterministic={}", precision_name(asked_type(settings)),
                                 settings.deterministic ? 1 : 0);
  // Whether this process may use the matrix unit shows in the class alone.
  if (type != DType::kF32) text += ";class=" + site.generator->accumulation_class(type);
  // Types may share a class.
  if (type != product_type(*site.generator, settings))
    text += fmt::format(";serves={}", precision_name(type));
  return text;
}

void log_start(const Device& device) {
  const std::string report = log_topics().device ? device.start_report() : "";
  if (!report.empty()) log_info("{}: {}", device.target().name, report);
}

}  // namespace

Result<CompileMode> parse_compile_mode(std::string_view name) {
  if (name == "default") return CompileMode::kDefault;
  if (name == "reduce-overhead") return CompileMode::kReduceOverhead;
  if (name == "max-autotune") return CompileMode::kMaxAutotune;
  return fail(ErrorCode::kInvalidArgument,
              "unknown mode \"{}\", expected default, reduce-overhead or max-autotune", name);
}

DType product_type(const CodeGenerator& generator, const CallSettings& settings) {
  const DType type = asked_type(settings);
  return generator.accumulation_class(type).empty() ? DType::kF32 : type;
}

std::string graph_identity(const Graph& graph) {
  return content_digest(print(graph));
}

GraphEntryBuilder::GraphEntryBuilder(Graph graph, std::shared_ptr<ConstantSource> constants,
                                     EntryCompilation compilation)
    : graph_(std::move(graph)), constants_(std::move(constants)), compilation_(std::move(compilation)) {}

bool GraphEntryBuilder::uses(const CompileSite& site) const {
  if (compilation_.eager || !site.compiles()) return false;
  return &site != &compilation_.accelerator || !accelerator_lost_.load();
}

std::vector<DType> GraphEntryBuilder::candidates(const CompileSite& site,
                                                 const CallSettings& settings) const {
  const DType first = product_type(*site.generator, settings);
  std::vector<DType> types = {first};
  if (!is_judged(first)) return types;
  // What is too large for f16 may be in the range of bf16.
  if (first == DType::kF16 && !compilation_.names_precision &&
      !site.generator->accumulation_class(DType::kBF16).empty())
    types.push_back(DType::kBF16);
  types.push_back(DType::kF32);
  return types;
}

PrecisionRecord GraphEntryBuilder::new_record(const CallSettings& settings) const {
  return {.asked = asked_type(settings), .named = compilation_.names_precision};
}

std::vector<EntryKey> GraphEntryBuilder::entry_keys(const CompileSite& site, const CallSettings& settings,
                                                    std::span<const DType> types, bool tuned) {
  EntryKey key;
  {
    const std::lock_guard lock(hash_mutex_);
    if (graph_hash_.empty()) graph_hash_ = graph_identity(graph_);
    key.graph_hash = graph_hash_;
  }
  key.target = site.generator->target();
  key.features = site.generator->features();
  key.options = program_options();
  if (tuned) key.options += fmt::format(";tuned on {}", site.device->measured_on());
  key.generator = site.generator->version();
  key.compiler = site.compiler->identity();
  std::vector<EntryKey> keys;
  for (const DType type : types) {
    key.settings = settings_text(site, settings, type);
    keys.push_back(key);
  }
  // Where nothing can be compiled, what another compiler made is better than the fallback.
  if (compilation_.cache == nullptr || site.compiler->available()) return keys;
  for (const EntryKey& own : keys)
    if (const auto other = compilation_.cache->find_other_compiler(own)) {
      for (EntryKey& k : keys) k.compiler = other->compiler;
      break;
    }
  return keys;
}

std::vector<EntryKey> GraphEntryBuilder::stored_keys(const CompileSite& site, const CallSettings& settings,
                                                     std::span<const DType> types) {
  std::vector<EntryKey> keys = entry_keys(site, settings, types, false);
  const std::vector<EntryKey> tuned = entry_keys(site, settings, types, true);
  for (size_t i = 0; i < keys.size(); ++i)
    if (compilation_.mode == CompileMode::kMaxAutotune || compilation_.cache->has_entry(tuned[i]))
      keys[i] = tuned[i];
  return keys;
}

const std::string& GraphEntryBuilder::weights_identity() {
  std::call_once(weights_once_,
                 [this] { weights_ = compilation_.gate->weights ? compilation_.gate->weights() : ""; });
  return weights_;
}

// A precision is judged once, whoever asked for what and however the kernels were scheduled: within a class
// their bits are the same.
EntryKey GraphEntryBuilder::judged_key(const CompileSite& site, const EntryKey& key, DType type) const {
  EntryKey judged = key;
  judged.settings = settings_text(site, {.precision = setting_of(type)}, type);
  judged.options = program_options();
  return judged;
}

GateKey GraphEntryBuilder::gate_key(const EntryKey& judged, DType type) {
  return {.entry = judged, .weights = weights_identity(), .rule = gate_rule(type, compilation_.gate->sample)};
}

std::optional<GateVerdict> GraphEntryBuilder::known_verdict(const EntryKey& judged, DType type) {
  // Hashing the weights takes long; nobody waits for it where nothing can be found.
  if (compilation_.cache == nullptr || !compilation_.cache->has_gates(judged)) return std::nullopt;
  return compilation_.cache->find_gate(gate_key(judged, type));
}

Result<StoredEntry> GraphEntryBuilder::find_stored(const EntryKey& key) {
  KernelCache& cache = *compilation_.cache;
  const std::optional<std::string> text = cache.find_entry(key);
  if (!text) {
    if (log_topics().cache) log_info("entry {} is compiled: {}", key.id(), cache.explain_miss(key).text());
    return fail(ErrorCode::kNotFound, "no entry is stored");
  }
  Result<StoredEntry> stored = parse_entry(*text);
  if (!stored) cache.drop_entry(key, stored.error().message);
  return stored;
}

Result<std::shared_ptr<Entry>> GraphEntryBuilder::bind_stored(const CompileSite& site, const EntryKey& key,
                                                              StoredEntry stored) {
  KernelCache& cache = *compilation_.cache;
  const Device& device = *site.device;
  const auto forget = [&](const Error& error) {
    // Neither a lost device nor scarce memory is the entry's fault.
    if (error.code != ErrorCode::kDeviceLost && error.code != ErrorCode::kResourceExhausted)
      cache.drop_entry(key, error.message);
    return std::unexpected(error);
  };
  Result<std::shared_ptr<const void>> constants = device.prefetch(stored.program, *constants_);
  if (!constants) return forget(constants.error());
  std::vector<KernelBlob> blobs;
  std::vector<std::string> names;
  for (const KernelRef& kernel : stored.program.kernels) {
    if (!kernel.name.starts_with("kernel:") || device.load_kernel(kernel.name)) continue;
    std::optional<KernelBlob> blob = cache.find_kernel(kernel.name);
    if (!blob) return forget({ErrorCode::kNotFound, fmt::format("{} is not stored", kernel.name)});
    blobs.push_back(*std::move(blob));
    names.push_back(kernel.name);
  }
  std::vector<NamedBlob> named;
  for (size_t i = 0; i < blobs.size(); ++i) named.push_back({names[i], &blobs[i]});
  if (!named.empty())
    if (const auto loaded = device.load_code(named); !loaded) return std::unexpected(loaded.error());
  auto entry = std::make_shared<Entry>();
  entry->guards = std::move(stored.guards);
  Result<std::unique_ptr<Executable>> bound = device.bind(std::move(stored.program), *constants_);
  if (!bound) return forget(bound.error());
  entry->program = *std::move(bound);
  EDGE_INFER_RETURN_IF_ERROR(prepare(*entry));
  log_start(device);
  entry->target = device.target().name;
  return entry;
}

Status GraphEntryBuilder::prepare(const Entry& entry) const {
  if (compilation_.mode == CompileMode::kDefault) return {};
  return entry.program->prepare();
}

Result<std::shared_ptr<Entry>> GraphEntryBuilder::stored(const CompileSite& site,
                                                         std::span<const TensorView> inputs,
                                                         const CallSettings& settings) {
  PrecisionRecord record = new_record(settings);
  const std::vector<DType> types = candidates(site, settings);
  const std::vector<EntryKey> keys = stored_keys(site, settings, types);
  for (size_t i = 0; i < types.size(); ++i) {
    const DType type = types[i];
    const EntryKey& key = keys[i];
    if (is_judged(type)) {
      const std::optional<GateVerdict> verdict = known_verdict(judged_key(site, key, type), type);
      if (!verdict && log_topics().cache)
        log_info("entry {} is judged in {}: no verdict is stored for these weights", key.id(),
                 precision_name(type));
      if (!verdict)
        return fail(ErrorCode::kNotFound, "{} has not been judged for this model", precision_name(type));
      record.tried.push_back(*verdict);
      if (!verdict->passes()) continue;
    }
    EDGE_INFER_ASSIGN(StoredEntry stored, find_stored(key));
    if (const auto failed = stored.guards.first_failure(inputs, settings))
      return fail(ErrorCode::kNotFound, "the stored entry does not serve this call: {}",
                  stored.guards.describe_failure(*failed, inputs, settings));
    EDGE_INFER_ASSIGN(std::shared_ptr<Entry> entry, bind_stored(site, key, std::move(stored)));
    record.served = type;
    log_record(record, false);
    entry->precision = std::move(record);
    return entry;
  }
  return fail(ErrorCode::kInternal, "no precision is left");
}

Result<std::shared_ptr<const Entry>> GraphEntryBuilder::build(std::span<const TensorView> inputs,
                                                              const CallSettings& settings) {
  // A dump shows how the entry is made, so it is made.
  const bool may_be_stored = compilation_.cache != nullptr && dump_folder().empty();
  const bool accelerates = uses(compilation_.accelerator);
  if (may_be_stored && accelerates) {
    if (auto entry = stored(compilation_.accelerator, inputs, settings)) return *std::move(entry);
  }
  if (may_be_stored && uses(compilation_.host)) {
    if (auto entry = stored(compilation_.host, inputs, settings)) {
      (*entry)->improvable = accelerates && !compilation_.stored_only;
      return *std::move(entry);
    }
  }
  auto entry = std::make_shared<Entry>();
  entry->guards = make_guards(graph_, settings);
  if (const auto failed = entry->guards.first_failure(inputs, settings))
    return fail(ErrorCode::kInvalidArgument, "graph @{} cannot serve this call: {}", graph_.name(),
                entry->guards.describe_failure(*failed, inputs, settings));
  // Prebuilt kernels serve every precision: they compute in fp32, which is at least as accurate.
  const Device& host = *compilation_.host.device;
  EDGE_INFER_ASSIGN(Program program, lower_fallback(graph_, host.target()));
  EDGE_INFER_ASSIGN(entry->program, host.bind(std::move(program), *constants_));
  entry->improvable = (accelerates || uses(compilation_.host)) && !compilation_.stored_only;
  entry->target = host.target().name;
  entry->precision = new_record(settings);
  return entry;
}

Result<GraphEntryBuilder::Made> GraphEntryBuilder::compiled(const CompileSite& site, const GuardSet& guards,
                                                            DType type) {
  const auto is_cancelled = [this] { return cancelled_.load(); };
  EDGE_INFER_RETURN_IF_ERROR(site.compiler->available());
  CompileOptions options;
  options.passes.is_cancelled = is_cancelled;
  options.precision = type;
  EDGE_INFER_ASSIGN(CompiledGraph compiled,
                    compile(graph_, site.device->target(), *site.generator, *site.compiler, options));
  const bool tunes = compilation_.mode == CompileMode::kMaxAutotune;
  bool stores = compilation_.cache != nullptr;
  if (tunes) {
    const TunedSchedules schedules = tune_schedules(compiled, site, compilation_.cache.get(), is_cancelled);
    options.schedule = [&](const loop::LoopNest& nest, int64_t rows) {
      return schedules.find(nest, rows, site);
    };
    EDGE_INFER_ASSIGN(compiled,
                      compile(graph_, site.device->target(), *site.generator, *site.compiler, options));
    stores = stores && schedules.complete;
    options.schedule = {};
    if (log_topics().compile)
      for (const TunedNest& nest : schedules.nests) log_info("{}", nest.text());
  }
  EDGE_INFER_ASSIGN(const ObtainReport report, obtain_kernels(compiled.kernels, *site.device, *site.compiler,
                                                              compilation_.cache.get(), is_cancelled));
  if (log_topics().fusion) log_info("fusion\n{}{}", describe_kernels(compiled), describe_unfused(compiled));
  if (log_topics().guards) log_info("guards\n{}", guards.print());
  Made made;
  made.summary = fmt::format("{} kernels from the cache, {} compiled in {:.0f} ms of CPU time",
                             report.from_cache, report.compiled, report.compile_seconds * 1e3);
  if (log_topics().compile) log_info("{}", made.summary);
  if (const std::filesystem::path dir = dump_folder(); !dir.empty())
    if (const Status written = write_dump(compiled, *site.compiler, dir); !written)
      log_warning("no dump: {}", written.error().message);
  made.entry = std::make_shared<Entry>();
  made.entry->guards = guards;
  made.entry->target = site.device->target().name;
  if (stores) made.text = print_entry(guards, compiled.program);
  Result<std::unique_ptr<Executable>> bound = site.device->bind(std::move(compiled.program), *constants_);
  if (!bound) {
    // A weight that the type cannot hold, for one.
    if (!is_judged(type) || bound.error().code != ErrorCode::kUnsupported)
      return std::unexpected(bound.error());
    made.refused = bound.error().message;
    return made;
  }
  made.entry->program = *std::move(bound);
  EDGE_INFER_RETURN_IF_ERROR(prepare(*made.entry));
  log_start(*site.device);
  return made;
}

void GraphEntryBuilder::store(const EntryKey& key, const Made& made) {
  if (compilation_.cache == nullptr) return;
  compilation_.cache->put_graph(key.graph_hash, print(graph_));
  compilation_.cache->put_entry(key, made.text);
  compilation_.cache->add_event("entry", "entry:" + key.id(), made.summary);
  compilation_.cache->flush();
}

Result<GateVerdict> GraphEntryBuilder::judged(DType type, const Made& made,
                                              std::optional<GateOutputs>& reference) {
  if (!made.refused.empty())
    return GateVerdict{.type = type, .bound = gate_bound(type), .refused = made.refused};
  const GateSample& sample = compilation_.gate->sample;
  if (!reference) {
    if (cancelled_.load()) return fail(ErrorCode::kCancelled, "compilation was cancelled");
    EDGE_INFER_ASSIGN(reference, reference_outputs(graph_, sample, *compilation_.host.device, *constants_));
  }
  if (cancelled_.load()) return fail(ErrorCode::kCancelled, "compilation was cancelled");
  return judge(*made.entry->program, type, graph_, sample, *reference);
}

Result<std::shared_ptr<Entry>> GraphEntryBuilder::made(const CompileSite& site, const GuardSet& guards,
                                                       const CallSettings& settings) {
  PrecisionRecord record = new_record(settings);
  std::optional<GateOutputs> reference;
  bool is_new = false;
  const std::vector<DType> types = candidates(site, settings);
  const bool tunes = compilation_.mode == CompileMode::kMaxAutotune;
  const std::vector<EntryKey> keys = entry_keys(site, settings, types, tunes);
  for (size_t i = 0; i < types.size(); ++i) {
    const DType type = types[i];
    const EntryKey& key = keys[i];
    std::optional<GateVerdict> verdict;
    if (is_judged(type)) verdict = known_verdict(judged_key(site, key, type), type);
    const bool is_judged_now = is_judged(type) && !verdict;
    if (verdict) record.tried.push_back(*verdict);
    if (verdict && !verdict->passes()) continue;
    Made result;
    // What an installer brought, or an older program made, has not been judged.
    if (is_judged_now && compilation_.cache != nullptr && !tunes && dump_folder().empty()) {
      const EntryKey brought = stored_keys(site, settings, types)[i];
      if (auto found = find_stored(brought); found && found->guards == guards)
        if (auto entry = bind_stored(site, brought, *std::move(found))) result.entry = *std::move(entry);
    }
    if (result.entry == nullptr) {
      EDGE_INFER_ASSIGN(result, compiled(site, guards, type));
    }
    // It was ready when it was judged.
    if (!is_judged_now && !result.refused.empty()) return fail(ErrorCode::kUnsupported, "{}", result.refused);
    if (is_judged_now) {
      const auto begin = std::chrono::steady_clock::now();
      EDGE_INFER_ASSIGN(verdict, judged(type, result, reference));
      const std::chrono::duration<double, std::milli> needed = std::chrono::steady_clock::now() - begin;
      if (log_topics().compile) log_info("{} was judged in {:.0f} ms", precision_name(type), needed.count());
      is_new = true;
      if (compilation_.cache != nullptr)
        compilation_.cache->put_gate(gate_key(judged_key(site, key, type), type), *verdict);
      record.tried.push_back(*verdict);
      if (!verdict->passes()) continue;
    }
    if (!result.text.empty()) store(key, result);
    record.served = type;
    log_record(record, is_new);
    result.entry->precision = std::move(record);
    return std::move(result.entry);
  }
  return fail(ErrorCode::kInternal, "no precision is left");
}

Result<std::shared_ptr<const Entry>> GraphEntryBuilder::improve(const Entry& entry,
                                                                const CallSettings& settings) {
  Result<std::shared_ptr<Entry>> better = fail(ErrorCode::kUnsupported, "nothing compiles");
  for (const CompileSite* site : {&compilation_.accelerator, &compilation_.host}) {
    if (!uses(*site)) continue;
    better = made(*site, entry.guards, settings);
    if (better) return *std::move(better);
    if (better.error().code == ErrorCode::kCancelled) break;
    if (site == &compilation_.accelerator)
      log_warning("{}: kernels are not compiled, the processor answers: {}", site->generator->target(),
                  better.error().message);
    else
      log_warning("kernels are not compiled, the prebuilt ones serve: {}", better.error().message);
    if (compilation_.cache != nullptr)
      compilation_.cache->add_event("failed", "graph:" + graph_.name(), better.error().message);
  }
  return std::unexpected(better.error());
}

}  // namespace edge_infer
