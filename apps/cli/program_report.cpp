#include "apps/cli/program_report.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "models/cost.h"
#include "runtime/cache/entry_text.h"
#include "runtime/device/registry.h"

namespace edge_infer {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kShortText = 16, kManyTexts = 32;

std::string text_of(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 18 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "T <= 128, B <= 4": the sizes of the inputs; counts of work units follow from them.
std::string class_text(const Program& program, const std::vector<int64_t>& limits) {
  std::string out;
  for (size_t s = 0; s < std::min(program.symbol_sources.size(), limits.size()); ++s)
    out += fmt::format("{}{} <= {}", out.empty() ? "" : ", ", program.symbols[s].name, limits[s]);
  return out;
}

ordered_json class_list(const Program& program, const std::vector<std::vector<int64_t>>& classes) {
  ordered_json list = ordered_json::array();
  for (const std::vector<int64_t>& limits : classes) list.push_back(class_text(program, limits));
  return list;
}

ordered_json describe_stored(KernelCache& cache, const EntryKey& key, int64_t max_length) {
  ordered_json d = {{"target", key.target},
                    {"settings", key.settings},
                    {"generator", key.generator},
                    {"compiler", key.compiler}};
  const auto text = cache.find_entry(key);
  const Result<StoredEntry> entry =
      text ? parse_entry(*text) : Result<StoredEntry>(fail(ErrorCode::kNotFound, "the entry is gone"));
  if (!entry) {
    d["error"] = entry.error().message;
    return d;
  }
  const Program& program = entry->program;
  d["class"] = program.accumulation_class;
  d["phases"] = program.phases.size();
  d["kernels"] = kernel_report(program, key.target, &cache);
  int64_t code_bytes = 0;
  for (const ordered_json& kernel : d["kernels"]) code_bytes += kernel.value("code_bytes", int64_t{0});
  d["code_bytes"] = code_bytes;
  d["arena_at"] = arena_report(program, max_length);
  const Result<ProgramFacts> facts = program_facts(key.target, program);
  if (!facts) {
    d["error"] = facts.error().message;
    return d;
  }
  if (facts->weight_bytes > 0) d["weight_bytes"] = facts->weight_bytes;
  if (!facts->replay_classes.empty())
    d["graphs"] = {{"count", facts->replay_classes.size()},
                   {"classes", class_list(program, facts->replay_classes)}};
  return d;
}

void print_arena(const ordered_json& arena) {
  for (const ordered_json& at : arena)
    fmt::print("  temporaries of {} x {} tokens: {} bytes\n", text_of(at["texts"]), text_of(at["tokens"]),
               text_of(at["bytes"]));
}

void print_graphs(const ordered_json& graphs) {
  if (graphs.is_null()) return;
  fmt::print("  graphs: {}", text_of(graphs["count"]));
  if (graphs.contains("replays")) fmt::print(", replays of this process: {}", text_of(graphs["replays"]));
  fmt::print("\n");
  for (const ordered_json& limits : graphs["classes"]) fmt::print("    {}\n", text_of(limits));
}

}  // namespace

ordered_json code_report(std::string_view target, const KernelBlob& code) {
  const Result<CodeFacts> facts = code_facts(target, code);
  if (!facts) return {{"error", facts.error().message}};
  ordered_json d = ordered_json::object();
  for (const auto& [name, value] : *facts) {
    if (is_number(value))
      d[name] = std::stoll(value);
    else
      d[name] = value;
  }
  return d;
}

ordered_json precision_report(const PrecisionRecord& record) {
  ordered_json tried = ordered_json::array();
  for (const GateVerdict& v : record.tried)
    tried.push_back({{"precision", precision_name(v.type)},
                     {"passed", v.passes()},
                     {"bound", v.bound},
                     {"vectors", v.rows},
                     {"lowest_cosine", v.lowest_at.empty() ? ordered_json() : ordered_json(v.lowest_cosine)},
                     {"lowest_at", v.lowest_at},
                     {"not_finite", v.not_finite},
                     {"not_finite_at", v.not_finite_at},
                     {"refused", v.refused}});
  ordered_json d = {{"asked", precision_name(record.asked)},
                    {"served", precision_name(record.served)},
                    {"text", record.describe()},
                    {"tried", tried}};
  if (!record.tried.empty()) d["named"] = record.named;
  return d;
}

ordered_json kernel_report(const Program& program, const std::string& target, KernelCache* cache) {
  std::map<std::string, int64_t> calls;
  for (const Phase& phase : program.phases)
    for (const Call& call : phase.calls) ++calls[program.kernels[static_cast<size_t>(call.kernel)].name];
  ordered_json kernels = ordered_json::array();
  for (const auto& [name, count] : calls) {
    kernels.push_back({{"kernel", name}, {"calls", count}});
    if (cache == nullptr) continue;
    if (const auto blob = cache->look_at_kernel(name)) kernels.back().update(code_report(target, *blob));
  }
  return kernels;
}

ordered_json arena_report(const Program& program, int64_t max_length) {
  ordered_json list = ordered_json::array();
  for (const auto& [texts, length] : {std::pair{int64_t{1}, std::min(kShortText, max_length)},
                                      {int64_t{1}, max_length},
                                      {kManyTexts, max_length}}) {
    const std::vector<int64_t> lengths(static_cast<size_t>(texts), length);
    list.push_back({{"texts", texts},
                    {"tokens", length},
                    {"bytes", static_cast<int64_t>(program_arena_bytes(program, lengths))}});
  }
  return list;
}

ordered_json memory_report(const Executable& program) {
  const ExecutableFacts facts = program.facts();
  if (facts.weight_bytes + facts.code_bytes + facts.pinned_bytes == 0) return nullptr;
  return {{"device_bytes", facts.weight_bytes + facts.code_bytes + facts.arena_bytes},
          {"weight_bytes", facts.weight_bytes},
          {"arena_bytes", facts.arena_bytes},
          {"code_bytes", facts.code_bytes},
          {"pinned_bytes", facts.pinned_bytes}};
}

ordered_json graph_report(const Executable& program) {
  const ExecutableFacts facts = program.facts();
  if (facts.replay_classes.empty() && facts.replays == 0) return nullptr;
  return {{"count", facts.replay_classes.size()},
          {"replays", facts.replays},
          {"classes", class_list(program.program(), facts.replay_classes)}};
}

ordered_json stored_report(KernelCache& cache, const std::string& graph_hash, int64_t max_length) {
  ordered_json entries = ordered_json::array(), gates = ordered_json::array();
  for (const EntryKey& key : cache.entries_of(graph_hash))
    entries.push_back(describe_stored(cache, key, max_length));
  for (const auto& [key, verdict] : cache.gates_of(graph_hash))
    gates.push_back({{"target", key.entry.target},
                     {"settings", key.entry.settings},
                     {"weights", key.weights},
                     {"found", verdict.describe()}});
  return {{"entries", entries}, {"gates", gates}};
}

void print_kernels(const ordered_json& kernels) {
  for (const ordered_json& kernel : kernels) {
    std::string facts;
    for (const auto& [name, value] : kernel.items())
      if (name != "kernel" && name != "calls") facts += fmt::format("  {} {}", name, text_of(value));
    fmt::print("    {:4} x {}{}\n", text_of(kernel["calls"]), text_of(kernel["kernel"]), facts);
  }
}

void print_memory(const ordered_json& entry) {
  const ordered_json& memory = entry["memory"];
  if (entry.contains("arena_at")) print_arena(entry["arena_at"]);
  if (!memory.is_null())
    fmt::print(
        "  device memory over the context's own: {} bytes (weights {}, temporaries {}, code {}); pinned host "
        "memory: {} bytes\n",
        text_of(memory["device_bytes"]), text_of(memory["weight_bytes"]), text_of(memory["arena_bytes"]),
        text_of(memory["code_bytes"]), text_of(memory["pinned_bytes"]));
  print_graphs(entry["graphs"]);
}

void print_stored(const ordered_json& stored) {
  for (const ordered_json& entry : stored["entries"]) {
    fmt::print("\nstored entry for {}, {}\n", text_of(entry["target"]), text_of(entry["settings"]));
    if (entry.contains("error")) fmt::print("  {}\n", text_of(entry["error"]));
    if (!entry.contains("kernels")) continue;
    fmt::print("  made by {} and {}; {} phases, kernels\n", text_of(entry["generator"]),
               text_of(entry["compiler"]), text_of(entry["phases"]));
    print_kernels(entry["kernels"]);
    fmt::print("  code: {} bytes", text_of(entry["code_bytes"]));
    if (entry.contains("weight_bytes"))
      fmt::print("; weights on the device: {} bytes", text_of(entry["weight_bytes"]));
    fmt::print("\n");
    print_arena(entry["arena_at"]);
    if (entry.contains("graphs")) print_graphs(entry["graphs"]);
  }
  if (!stored["gates"].empty()) fmt::print("\nprecisions judged\n");
  for (const ordered_json& gate : stored["gates"])
    fmt::print("  {}, {}: {}\n", text_of(gate["target"]), text_of(gate["settings"]), text_of(gate["found"]));
}

}  // namespace edge_infer
