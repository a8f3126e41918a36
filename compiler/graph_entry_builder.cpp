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

}  // namespace

GraphEntryBuilder::GraphEntryBuilder(Graph graph, std::shared_ptr<const Device> device,
                                     std::shared_ptr<ConstantSource> constants, EntryCompilation compilation)
    : graph_(std::move(graph)),
      device_(std::move(device)),
      constants_(std::move(constants)),
      compilation_(std::move(compilation)) {}

EntryKey GraphEntryBuilder::entry_key(const CallSettings& settings) {
  EntryKey key;
  {
    const std::lock_guard lock(hash_mutex_);
    if (graph_hash_.empty()) graph_hash_ = content_digest(print(graph_));
    key.graph_hash = graph_hash_;
  }
  key.target = compilation_.generator->target();
  key.features = compilation_.generator->features();
  key.settings = fmt::format("precision={};deterministic={}", precision_name(settings.precision),
                             settings.deterministic ? 1 : 0);
  // Whether this process may use the matrix unit shows in the class alone.
  if (settings.precision == CallSettings::Precision::kBF16)
    key.settings += ";class=" + compilation_.generator->accumulation_class(DType::kBF16);
  key.options = fmt::format("program={}", kProgramVersion);
  key.generator = compilation_.generator->version();
  key.compiler = compilation_.compiler->identity();
  return key;
}

Result<std::shared_ptr<const Entry>> GraphEntryBuilder::cached(const EntryKey& key,
                                                               std::span<const TensorView> inputs,
                                                               const CallSettings& settings) {
  const std::optional<std::string> text = compilation_.cache->find_entry(key);
  if (!text) return fail(ErrorCode::kNotFound, "no entry is stored");
  const auto forget = [&](const Error& error) {
    compilation_.cache->drop_entry(key, error.message);
    return std::unexpected(error);
  };
  Result<StoredEntry> stored = parse_entry(*text);
  if (!stored) return forget(stored.error());
  if (const auto failed = stored->guards.first_failure(inputs, settings))
    return fail(ErrorCode::kNotFound, "the stored entry does not serve this call: {}",
                stored->guards.describe_failure(*failed, inputs, settings));
  std::vector<KernelBlob> blobs;
  std::vector<std::string> names;
  for (const KernelRef& kernel : stored->program.kernels) {
    if (!kernel.name.starts_with("kernel:") || device_->load_kernel(kernel.name)) continue;
    std::optional<KernelBlob> blob = compilation_.cache->find_kernel(kernel.name);
    if (!blob) return forget({ErrorCode::kNotFound, fmt::format("{} is not stored", kernel.name)});
    blobs.push_back(*std::move(blob));
    names.push_back(kernel.name);
  }
  std::vector<NamedBlob> named;
  for (size_t i = 0; i < blobs.size(); ++i) named.push_back({names[i], &blobs[i]});
  if (!named.empty())
    if (const auto loaded = device_->load_code(named); !loaded) return std::unexpected(loaded.error());
  auto entry = std::make_shared<Entry>();
  entry->guards = std::move(stored->guards);
  Result<std::unique_ptr<BoundProgram>> bound =
      BoundProgram::bind(std::move(stored->program), *device_, *constants_);
  if (!bound) return forget(bound.error());
  entry->program = *std::move(bound);
  return entry;
}

Result<std::shared_ptr<const Entry>> GraphEntryBuilder::build(std::span<const TensorView> inputs,
                                                              const CallSettings& settings) {
  if (settings.precision == CallSettings::Precision::kF16)
    return fail(ErrorCode::kUnsupported, "precision fp16 is not available; there are fp32 and bf16");
  // max-autotune makes the stored entry anew, from measurements that may be stored.
  if (compilation_.compiles() && compilation_.cache != nullptr && !compilation_.max_autotune) {
    const EntryKey key = entry_key(settings);
    auto entry = cached(key, inputs, settings);
    if (entry) return entry;
    if (log_topics().cache)
      log_info("entry {} is compiled: {}", key.id(), compilation_.cache->explain_miss(key).text());
  }
  auto entry = std::make_shared<Entry>();
  entry->guards = make_guards(graph_, settings);
  if (const auto failed = entry->guards.first_failure(inputs, settings))
    return fail(ErrorCode::kInvalidArgument, "graph @{} cannot serve this call: {}", graph_.name(),
                entry->guards.describe_failure(*failed, inputs, settings));
  // Prebuilt kernels serve bf16, too: they compute in fp32, which is at least as accurate.
  EDGE_INFER_ASSIGN(Program program, lower_fallback(graph_, device_->target()));
  EDGE_INFER_ASSIGN(entry->program, BoundProgram::bind(std::move(program), *device_, *constants_));
  entry->improvable = compilation_.compiles();
  return entry;
}

Result<std::shared_ptr<const Entry>> GraphEntryBuilder::improve(const Entry& entry,
                                                                const CallSettings& settings) {
  const auto is_cancelled = [this] { return cancelled_.load(); };
  const auto make = [&]() -> Result<std::shared_ptr<const Entry>> {
    EDGE_INFER_RETURN_IF_ERROR(compilation_.compiler->available());
    CompileOptions options;
    options.passes.is_cancelled = is_cancelled;
    if (settings.precision == CallSettings::Precision::kBF16) options.precision = DType::kBF16;
    if (compilation_.max_autotune)
      options.schedule = [&](const loop::LoopNest& nest) {
        return tuned_schedule(nest, *device_, compilation_, is_cancelled);
      };
    EDGE_INFER_ASSIGN(CompiledGraph compiled, compile(graph_, device_->target(), *compilation_.generator,
                                                      *compilation_.compiler, options));
    EDGE_INFER_ASSIGN(const ObtainReport report,
                      obtain_kernels(compiled.kernels, *device_, *compilation_.compiler,
                                     compilation_.cache.get(), is_cancelled));
    if (log_topics().fusion) log_info("fusion\n{}{}", describe_kernels(compiled), describe_unfused(compiled));
    if (log_topics().guards) log_info("guards\n{}", entry.guards.print());
    if (log_topics().compile)
      log_info("{} kernels from the cache, {} compiled in {:.0f} ms of CPU time", report.from_cache,
               report.compiled, report.compile_seconds * 1e3);
    if (const std::filesystem::path dir = dump_folder(); !dir.empty())
      if (const Status written = write_dump(compiled, *compilation_.compiler, dir); !written)
        log_warning("no dump: {}", written.error().message);
    auto better = std::make_shared<Entry>();
    better->guards = entry.guards;
    const std::string text =
        compilation_.cache != nullptr ? print_entry(better->guards, compiled.program) : "";
    EDGE_INFER_ASSIGN(better->program,
                      BoundProgram::bind(std::move(compiled.program), *device_, *constants_));
    if (compilation_.cache != nullptr) {
      const EntryKey key = entry_key(settings);
      compilation_.cache->put_graph(key.graph_hash, print(graph_));
      compilation_.cache->put_entry(key, text);
      compilation_.cache->add_event(
          "entry", "entry:" + key.id(),
          fmt::format("{} kernels from the cache, {} compiled in {:.0f} ms of CPU time", report.from_cache,
                      report.compiled, report.compile_seconds * 1e3));
      compilation_.cache->flush();
    }
    return better;
  };
  Result<std::shared_ptr<const Entry>> better = make();
  if (!better && better.error().code != ErrorCode::kCancelled) {
    log_warning("kernels are not compiled, the prebuilt ones serve: {}", better.error().message);
    if (compilation_.cache != nullptr)
      compilation_.cache->add_event("failed", "graph:" + graph_.name(), better.error().message);
  }
  return better;
}

}  // namespace edge_infer
