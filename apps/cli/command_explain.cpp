// edge-infer explain: what serves a model's calls: device, entries, guards, kernels, memory.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/cli/commands.h"
#include "apps/cli/model_options.h"
#include "apps/cli/report.h"
#include "models/hub/model_directory.h"
#include "models/model_embedder.h"
#include "runtime/base/cpu.h"

namespace edge_infer {
namespace {

using nlohmann::ordered_json;

std::string kind_of(const Entry& entry) {
  if (std::ranges::any_of(entry.program->program().kernels,
                          [](const KernelRef& k) { return k.name.starts_with("kernel:"); }))
    return "compiled: fused kernels for this processor";
  std::string kind = "fallback: one prebuilt kernel a graph op";
  for (size_t i = 0; i < entry.guards.size(); ++i)
    if (entry.guards.print_one(i) == "precision == bf16") kind += ", in fp32, which is at least as accurate";
  return kind;
}

ordered_json describe_entry(const Entry& entry) {
  const Program& program = entry.program->program();
  ordered_json guards = ordered_json::array();
  for (size_t i = 0; i < entry.guards.size(); ++i)
    guards.push_back({{"guard", entry.guards.print_one(i)}, {"origin", entry.guards.origin(i)}});
  std::map<std::string, int64_t> calls;
  for (const Phase& phase : program.phases)
    for (const Call& call : phase.calls) ++calls[program.kernels[static_cast<size_t>(call.kernel)].name];
  ordered_json kernels = ordered_json::array();
  for (const auto& [name, count] : calls) kernels.push_back({{"kernel", name}, {"calls", count}});
  ordered_json slots = ordered_json::array();
  for (const SymInt& bytes : program.slots) slots.push_back(bytes.str());
  return {{"program", program.name},
          {"class", program.accumulation_class},
          {"kind", kind_of(entry)},
          {"guards", guards},
          {"phases", program.phases.size()},
          {"kernels", kernels},
          {"arena_slots", slots},
          {"arena_peak_bytes", entry.program->peak_arena_bytes()}};
}

ordered_json describe(const ModelEmbedder& e, const std::string& model) {
  const Target& target = e.device().target();
  ordered_json entries = ordered_json::array();
  for (const auto& entry : e.module().entries()) entries.push_back(describe_entry(*entry));
  return {{"model", model},
          {"dimensions", e.dimensions()},
          {"max_length", e.max_length()},
          {"fingerprint", e.space().fingerprint},
          {"cpu", cpu_name()},
          {"target", target.name},
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
    if (key != "entries") fmt::print("{}: {}\n", key, text(value));
  for (const ordered_json& entry : d["entries"]) {
    fmt::print("\nentry {} (class {}): {}\n", text(entry["program"]), text(entry["class"]),
               text(entry["kind"]));
    fmt::print("  serves calls for which\n");
    for (const ordered_json& guard : entry["guards"])
      fmt::print("    {}  ({})\n", text(guard["guard"]), text(guard["origin"]));
    fmt::print("  {} phases, kernels\n", text(entry["phases"]));
    for (const ordered_json& kernel : entry["kernels"])
      fmt::print("    {:4} x {}\n", text(kernel["calls"]), text(kernel["kernel"]));
    fmt::print("  arena slots (bytes): ");
    for (const ordered_json& slot : entry["arena_slots"]) fmt::print("[{}] ", text(slot));
    fmt::print("\n  arena peak: {} bytes\n", text(entry["arena_peak_bytes"]));
  }
}

Status explain(const ModelOptions& options, bool as_json) {
  EDGE_INFER_ASSIGN(const std::filesystem::path dir, resolve_model(options.model));
  EDGE_INFER_ASSIGN(const std::unique_ptr<ModelEmbedder> embedder,
                    ModelEmbedder::open(dir, options.embedder));
  // One real call, so that the arena's peak is that of a text.
  const std::string text = "explain";
  EDGE_INFER_RETURN_IF_ERROR(embedder->embed(std::span(&text, 1), "", nullptr));
  const ordered_json d = describe(*embedder, options.model);
  if (as_json)
    fmt::print("{}\n", d.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  else
    print_text(d);
  return {};
}

}  // namespace

void add_explain_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("explain", "print what serves a model's calls");
  auto options = std::make_shared<ModelOptions>();
  auto as_json = std::make_shared<bool>(false);
  add_model_options(*command, *options, true);
  command->add_flag("--json", *as_json, "one JSON object");
  command->callback([options, as_json, &exit_code] {
    if (const Status status = explain(*options, *as_json); !status) exit_code = report_error(status.error());
  });
}

}  // namespace edge_infer
