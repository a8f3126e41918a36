#include "compiler/graph_entry_builder.h"

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

const char* precision_name(CallSettings::Precision precision) {
  switch (precision) {
    case CallSettings::Precision::kF32:
      return "fp32";
    case CallSettings::Precision::kBF16:
      return "bf16";
    case CallSettings::Precision::kF16:
      return "fp16";
  }
  return "?";
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
  DType type = DType::kF32;
  if (settings.precision == CallSettings::Precision::kBF16) type = DType::kBF16;
  if (settings.precision == CallSettings::Precision::kF16) type = DType::kF16;
  return generator.accumulation_class(type).empty() ? DType::kF32 : type;
}

GraphEntryBuilder::GraphEntryBuilder(Graph graph, std::shared_ptr<ConstantSource> constants,
                                     EntryCompilation compilation)
    : graph_(std::move(graph)), constants_(std::move(constants)), compilation_(std::move(compilation)) {}

bool GraphEntryBuilder::uses(const CompileSite& site) const {
  if (compilation_.eager || !site.compiles()) return false;
  return &site != &compilation_.accelerator || !accelerator_lost_.load();
}

EntryKey GraphEntryBuilder::entry_key(const CompileSite& site, const CallSettings& settings, bool tuned) {
  EntryKey key;
  {
    const std::lock_guard lock(hash_mutex_);
    if (graph_hash_.empty()) graph_hash_ = content_digest(print(graph_));
    key.graph_hash = graph_hash_;
  }
  key.target = site.generator->target();
  key.features = site.generator->features();
  key.settings = fmt::format("precision={};deterministic={}", precision_name(settings.precision),
                             settings.deterministic ? 1 : 0);
  // Whether this process may use the matrix unit shows in the class alone.
  if (const DType type = product_type(*site.generator, settings); type != DType::kF32)
    key.settings += ";class=" + site.generator->accumulation_class(type);
  key.options = fmt::format("program={}", kProgramVersion);
  if (tuned) key.options += fmt::format(";tuned on {}", site.device->measured_on());
  key.generator = site.generator->version();
  key.compiler = site.compiler->identity();
  return key;
}

Result<std::shared_ptr<Entry>> GraphEntryBuilder::stored(const CompileSite& site,
                                                         std::span<const TensorView> inputs,
                                                         const CallSettings& settings) {
  KernelCache& cache = *compilation_.cache;
  const Device& device = *site.device;
  // What was tuned here is best in every mode; in max-autotune nothing else will do.
  EntryKey key = entry_key(site, settings, true);
  if (compilation_.mode != CompileMode::kMaxAutotune && !cache.has_entry(key))
    key = entry_key(site, settings, false);
  // Where nothing can be compiled, what another compiler made is better than the fallback.
  if (!site.compiler->available())
    if (auto other = cache.find_other_compiler(key)) key = *std::move(other);
  const std::optional<std::string> text = cache.find_entry(key);
  if (!text) {
    if (log_topics().cache) log_info("entry {} is compiled: {}", key.id(), cache.explain_miss(key).text());
    return fail(ErrorCode::kNotFound, "no entry is stored");
  }
  const auto forget = [&](const Error& error) {
    // Neither a lost device nor scarce memory is the entry's fault.
    if (error.code != ErrorCode::kDeviceLost && error.code != ErrorCode::kResourceExhausted)
      cache.drop_entry(key, error.message);
    return std::unexpected(error);
  };
  Result<StoredEntry> stored = parse_entry(*text);
  if (!stored) return forget(stored.error());
  if (const auto failed = stored->guards.first_failure(inputs, settings))
    return fail(ErrorCode::kNotFound, "the stored entry does not serve this call: {}",
                stored->guards.describe_failure(*failed, inputs, settings));
  Result<std::shared_ptr<const void>> constants = device.prefetch(stored->program, *constants_);
  if (!constants) return forget(constants.error());
  std::vector<KernelBlob> blobs;
  std::vector<std::string> names;
  for (const KernelRef& kernel : stored->program.kernels) {
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
  entry->guards = std::move(stored->guards);
  Result<std::unique_ptr<Executable>> bound = device.bind(std::move(stored->program), *constants_);
  if (!bound) return forget(bound.error());
  entry->program = *std::move(bound);
  EDGE_INFER_RETURN_IF_ERROR(prepare(*entry));
  log_start(device);
  return entry;
}

Status GraphEntryBuilder::prepare(const Entry& entry) const {
  if (compilation_.mode == CompileMode::kDefault) return {};
  return entry.program->prepare();
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
      (*entry)->improvable = accelerates;
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
  entry->improvable = accelerates || uses(compilation_.host);
  return entry;
}

Result<std::shared_ptr<Entry>> GraphEntryBuilder::compiled(const CompileSite& site, const GuardSet& guards,
                                                           const CallSettings& settings) {
  const auto is_cancelled = [this] { return cancelled_.load(); };
  EDGE_INFER_RETURN_IF_ERROR(site.compiler->available());
  CompileOptions options;
  options.passes.is_cancelled = is_cancelled;
  options.precision = product_type(*site.generator, settings);
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
  const std::string summary = fmt::format("{} kernels from the cache, {} compiled in {:.0f} ms of CPU time",
                                          report.from_cache, report.compiled, report.compile_seconds * 1e3);
  if (log_topics().compile) log_info("{}", summary);
  if (const std::filesystem::path dir = dump_folder(); !dir.empty())
    if (const Status written = write_dump(compiled, *site.compiler, dir); !written)
      log_warning("no dump: {}", written.error().message);
  auto entry = std::make_shared<Entry>();
  entry->guards = guards;
  const std::string text = stores ? print_entry(guards, compiled.program) : "";
  EDGE_INFER_ASSIGN(entry->program, site.device->bind(std::move(compiled.program), *constants_));
  EDGE_INFER_RETURN_IF_ERROR(prepare(*entry));
  log_start(*site.device);
  if (stores) {
    const EntryKey key = entry_key(site, settings, tunes);
    compilation_.cache->put_graph(key.graph_hash, print(graph_));
    compilation_.cache->put_entry(key, text);
    compilation_.cache->add_event("entry", "entry:" + key.id(), summary);
    compilation_.cache->flush();
  }
  return entry;
}

Result<std::shared_ptr<const Entry>> GraphEntryBuilder::improve(const Entry& entry,
                                                                const CallSettings& settings) {
  Result<std::shared_ptr<Entry>> better = fail(ErrorCode::kUnsupported, "nothing compiles");
  for (const CompileSite* site : {&compilation_.accelerator, &compilation_.host}) {
    if (!uses(*site)) continue;
    better = compiled(*site, entry.guards, settings);
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
