// edge-infer explain: what serves a model's calls: device, entries, guards, kernels, precision, memory; and
// what is stored for other devices.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/cli/commands.h"
#include "apps/cli/model_options.h"
#include "apps/cli/program_report.h"
#include "apps/cli/report.h"
#include "compiler/codegen/registry.h"
#include "compiler/dump.h"
#include "compiler/graph_entry_builder.h"
#include "compiler/tuned_schedule.h"
#include "models/hub/model_directory.h"
#include "models/model_embedder.h"
#include "runtime/base/cpu.h"

namespace edge_infer {
namespace {

using nlohmann::ordered_json;

ordered_json lines(const std::string& text) {
  ordered_json out = ordered_json::array();
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

std::string kind_of(const Entry& entry) {
  if (std::ranges::any_of(entry.program->program().kernels,
                          [](const KernelRef& k) { return k.name.starts_with("kernel:"); }))
    return "compiled: fused kernels for this machine";
  std::string kind = "fallback: one prebuilt kernel a graph op";
  for (size_t i = 0; i < entry.guards.size(); ++i)
    if (entry.guards.print_one(i) == "precision == bf16") kind += ", in fp32, which is at least as accurate";
  if (entry.improvable) kind += ", until compilation ends";
  return kind;
}

ordered_json describe_entry(const Entry& entry, const ModelEmbedder& e) {
  const Program& program = entry.program->program();
  ordered_json guards = ordered_json::array();
  for (size_t i = 0; i < entry.guards.size(); ++i)
    guards.push_back({{"guard", entry.guards.print_one(i)}, {"origin", entry.guards.origin(i)}});
  ordered_json slots = ordered_json::array();
  for (const SymInt& bytes : program.slots) slots.push_back(bytes.str());
  return {{"program", program.name},
          {"class", program.accumulation_class},
          {"kind", kind_of(entry)},
          {"target", entry.target},
          {"precision", precision_report(entry.precision)},
          {"guards", guards},
          {"phases", program.phases.size()},
          {"kernels", kernel_report(program, entry.target, e.cache())},
          {"arena_slots", slots},
          {"arena_at", arena_report(program, e.max_length())},
          {"arena_peak_bytes", entry.program->peak_arena_bytes()},
          {"memory", memory_report(*entry.program)},
          {"graphs", graph_report(*entry.program)}};
}

ordered_json describe_candidates(const TunedNest& tuned, const std::string& kernel) {
  ordered_json measured = ordered_json::array();
  for (const TunedNest::Candidate& candidate : tuned.candidates)
    measured.push_back({{"schedule", candidate.schedule}, {"ns", candidate.nanoseconds}});
  return {{"kernel", kernel},           {"nest", tuned.name},      {"rows", tuned.rows},
          {"chosen", tuned.schedule()}, {"summary", tuned.text()}, {"measured", measured}};
}

// Kernels with the graph nodes they compute, edges left un-fused with their reasons, candidates measured. The
// lowering runs again for this: it is deterministic, and the cache keeps programs, not reasons.
Status add_compilation(const ModelEmbedder& e, ordered_json& d) {
  EDGE_INFER_ASSIGN(const Graph graph, e.graph());
  EDGE_INFER_ASSIGN(const TargetCompiler target, open_compiler(e.device().target().name));
  CompileOptions options;
  options.precision = e.is_compiled() ? e.module().entries().front()->precision.served
                                      : product_type(*target.generator, e.settings());
  const CompileSite site = e.site(target);
  options.schedule = [&](const loop::LoopNest& nest, int64_t rows) {
    return stored_schedule(nest, rows, site, *e.cache());
  };
  EDGE_INFER_ASSIGN(const CompiledGraph compiled,
                    compile(graph, e.device().target(), *target.generator, *target.compiler, options));
  ordered_json passes = ordered_json::array();
  for (const PassReport& pass : compiled.passes)
    passes.push_back({{"pass", pass.name}, {"changed", pass.changed}, {"us", pass.seconds * 1e6}});
  d["passes"] = passes;
  d["kernel_nodes"] = lines(describe_kernels(compiled));
  d["unfused"] = lines(describe_unfused(compiled));
  for (ordered_json& entry : d["entries"])
    for (ordered_json& kernel : entry["kernels"]) {
      const auto plan =
          std::ranges::find(compiled.kernels, kernel["kernel"].get<std::string>(), &KernelPlan::name);
      if (plan != compiled.kernels.end())
        kernel["schedule"] = plan->schedule.empty() ? "default" : plan->schedule;
    }
  ordered_json candidates = ordered_json::array();
  for (size_t f = 0; f < compiled.forms.size(); ++f)
    for (size_t n = 0; n < compiled.forms[f].nests.size(); ++n)
      if (const auto tuned = stored_tuning(compiled.forms[f].nests[n], compiled.rows[f], site, *e.cache())) {
        // Forms may share nests.
        ordered_json row = describe_candidates(*tuned, compiled.kernels[compiled.form_kernels[f][n]].name);
        if (std::ranges::find(candidates, row) == candidates.end()) candidates.push_back(std::move(row));
      }
  d["candidates"] = candidates;
  return {};
}

// Which device answers single queries, and by which times.
ordered_json describe_route(const QueryRoute& route) {
  ordered_json measured = ordered_json::array();
  for (const QueryTime& time : route.times())
    measured.push_back(fmt::format("{} tokens: accelerator {:.1f} us, processor {:.1f} us", time.tokens,
                                   static_cast<double>(time.device_ns) / 1e3,
                                   static_cast<double>(time.host_ns) / 1e3));
  return {{"on_processor_up_to_tokens", route.threshold()},
          {"measured", measured.empty() ? ordered_json("not yet") : measured}};
}

void add_cache(KernelCache& cache, ordered_json& d) {
  const CacheStats stats = cache.stats();
  d["cache"] = {{"file", stats.file.empty() ? "in memory: " + stats.reason : stats.file},
                {"entries", stats.entries},
                {"kernels", stats.kernels},
                {"hits", stats.hits},
                {"misses", stats.misses}};
  ordered_json events = ordered_json::array();
  for (const CacheEvent& event : cache.events(20))
    events.push_back(fmt::format("{} {} {}", event.kind, event.what, event.detail));
  d["cache"]["events"] = events;
}

ordered_json describe(const ModelEmbedder& e, const std::string& model) {
  const Target& target = e.device().target();
  ordered_json entries = ordered_json::array();
  for (const auto& entry : e.module().entries()) entries.push_back(describe_entry(*entry, e));
  return {{"model", model},
          {"dimensions", e.dimensions()},
          {"max_length", e.max_length()},
          {"fingerprint", e.space().fingerprint},
          {"cpu", cpu_name()},
          {"target", target.name},
          {"measured_on", e.device().measured_on()},
          {"workers", worker_budget()},
          {"linear_format", target.packed_linear_format},
          {"packed_bytes", e.constants().packed_bytes()},
          {"packed_from_cache", e.constants().from_cache()},
          {"entries", entries}};
}

void print_text(const ordered_json& d) {
  const auto text = [](const ordered_json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  for (const auto& [key, value] : d.items())
    if (!value.is_array() && !value.is_object()) fmt::print("{}: {}\n", key, text(value));
  for (const ordered_json& entry : d["entries"]) {
    fmt::print("\nentry {} (class {}): {}\n", text(entry["program"]), text(entry["class"]),
               text(entry["kind"]));
    fmt::print("  runs on {}; {}\n", text(entry["target"]), text(entry["precision"]["text"]));
    fmt::print("  serves calls for which\n");
    for (const ordered_json& guard : entry["guards"])
      fmt::print("    {}  ({})\n", text(guard["guard"]), text(guard["origin"]));
    fmt::print("  {} phases, kernels\n", text(entry["phases"]));
    print_kernels(entry["kernels"]);
    fmt::print("  arena slots (bytes): ");
    for (const ordered_json& slot : entry["arena_slots"]) fmt::print("[{}] ", text(slot));
    fmt::print("\n  arena peak: {} bytes\n", text(entry["arena_peak_bytes"]));
    print_memory(entry);
  }
  if (d.contains("kernel_nodes")) {
    fmt::print("\nkernels and the graph nodes they compute\n");
    for (const ordered_json& line : d["kernel_nodes"]) fmt::print("  {}\n", text(line));
    fmt::print("\nedges left un-fused\n");
    for (const ordered_json& line : d["unfused"]) fmt::print("  {}\n", text(line));
    for (const ordered_json& tuned : d["candidates"]) {
      fmt::print("\ncandidates of {}: {}\n", text(tuned["kernel"]), text(tuned["summary"]));
      for (const ordered_json& row : tuned["measured"])
        fmt::print(
            "  {:<24} {}\n", text(row["schedule"]),
            row["ns"].empty() ? "failed" : fmt::format("{} ns", text(*std::ranges::min_element(row["ns"]))));
    }
  }
  if (d.contains("single_queries"))
    fmt::print("\nsingle queries: on the processor up to {} tokens; measured: {}\n",
               text(d["single_queries"]["on_processor_up_to_tokens"]), text(d["single_queries"]["measured"]));
  if (d.contains("stored")) print_stored(d["stored"]);
  if (d.contains("cache")) {
    const ordered_json& cache = d["cache"];
    fmt::print("\ncache {}: {} entries, {} kernels, {} hits, {} misses\n", text(cache["file"]),
               text(cache["entries"]), text(cache["kernels"]), text(cache["hits"]), text(cache["misses"]));
    for (const ordered_json& event : cache["events"]) fmt::print("  {}\n", text(event));
  }
}

Status explain(const ModelOptions& options, bool as_json) {
  EDGE_INFER_ASSIGN(const std::filesystem::path dir, resolve_model(options.model));
  EDGE_INFER_ASSIGN(const std::unique_ptr<ModelEmbedder> embedder,
                    ModelEmbedder::open(dir, options.embedder));
  // What serves in the end is what is explained.
  let_compilation_finish(*embedder);
  // One real call, so that the arena's peak is that of a text.
  const std::string text = "explain";
  EDGE_INFER_RETURN_IF_ERROR(embedder->embed(std::span(&text, 1), "", nullptr));
  ordered_json d = describe(*embedder, options.model);
  if (embedder->query_route() != nullptr) d["single_queries"] = describe_route(*embedder->query_route());
  if (embedder->cache() != nullptr) {
    if (const Status status = add_compilation(*embedder, d); !status)
      d["compilation"] = status.error().message;
    add_cache(*embedder->cache(), d);
    EDGE_INFER_ASSIGN(const Graph graph, embedder->graph());
    d["stored"] = stored_report(*embedder->cache(), graph_identity(graph), embedder->max_length());
  }
  if (as_json)
    fmt::print("{}\n", d.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  else
    print_text(d);
  std::fflush(stdout);
  return {};
}

}  // namespace

void add_explain_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("explain", "print what serves a model's calls");
  auto options = std::make_shared<ModelOptions>();
  auto as_json = std::make_shared<bool>(false);
  add_model_options(*command, *options, true);
  command->add_flag("--eager", options->embedder.eager, "explain the fallback");
  command->add_flag("--json", *as_json, "one JSON object");
  command->callback([options, as_json, &exit_code] {
    if (const Status status = explain(*options, *as_json); !status) exit_code = report_error(status.error());
  });
}

}  // namespace edge_infer
