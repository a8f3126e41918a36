// edge-infer cache: looks into the file of graphs, entries and compiled kernels, checks, empties and
// exchanges it; counts and removes the files beside it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "apps/cli/commands.h"
#include "apps/cli/program_report.h"
#include "apps/cli/report.h"
#include "runtime/base/cache_files.h"
#include "runtime/base/paths.h"
#include "runtime/cache/kernel_cache.h"

namespace edge_infer {
namespace {

using nlohmann::ordered_json;

struct CacheArguments {
  std::string file;
  bool trust = false;
  bool as_json = false;
};

void print_json(const ordered_json& value) {
  fmt::print("{}\n", value.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

// A command about the file has nothing to say about one in memory.
Result<std::unique_ptr<KernelCache>> open_file() {
  auto cache = KernelCache::open({.dir = default_cache_dir()});
  const CacheStats stats = cache->stats();
  if (stats.file.empty()) return fail(ErrorCode::kIoError, "no kernel cache: {}", stats.reason);
  return cache;
}

Result<int> list_rows(const CacheArguments& arguments) {
  EDGE_INFER_ASSIGN(const std::unique_ptr<KernelCache> cache, open_file());
  ordered_json list = ordered_json::array();
  for (const CacheRow& row : cache->rows()) {
    if (!arguments.as_json) {
      fmt::print("{:7} {} {:>9} bytes  {}\n", row.table, row.id, row.bytes, row.key);
      if (!row.detail.empty()) fmt::print("        {}\n", row.detail);
      continue;
    }
    list.push_back({{"table", row.table},
                    {"id", row.id},
                    {"key", row.key},
                    {"bytes", row.bytes},
                    {"created_ms", row.created},
                    {"last_used_ms", row.last_used}});
    if (!row.detail.empty()) list.back()["detail"] = row.detail;
    if (row.table != "kernel") continue;
    const Result<KernelKey> key = KernelKey::parse(row.key);
    const auto blob = cache->look_at_kernel("kernel:" + row.id);
    if (key && blob) list.back()["code"] = code_report(key->target, *blob);
  }
  if (arguments.as_json) print_json(list);
  return 0;
}

struct FileCount {
  int64_t files = 0, bytes = 0;
};

FileCount count_files(std::span<const CacheFile> all, CacheFile::Kind kind) {
  FileCount count;
  for (const CacheFile& file : all) {
    if (file.kind != kind) continue;
    ++count.files;
    count.bytes += file.bytes;
  }
  return count;
}

Result<int> print_stats(const CacheArguments& arguments) {
  const auto cache = KernelCache::open({.dir = default_cache_dir()});
  const CacheStats s = cache->stats();
  const std::vector<CacheFile> all = list_cache_files(default_cache_dir());
  const FileCount packs = count_files(all, CacheFile::Kind::kPack),
                  images = count_files(all, CacheFile::Kind::kImage);
  const ordered_json d = {{"file", s.file},
                          {"in_memory", s.file.empty()},
                          {"read_only", s.read_only},
                          {"reason", s.reason},
                          {"entries", s.entries},
                          {"kernels", s.kernels},
                          {"graphs", s.graphs},
                          {"tunings", s.tunings},
                          {"bytes", s.bytes},
                          {"limit_bytes", s.limit_bytes},
                          {"hits", s.hits},
                          {"misses", s.misses},
                          {"compiled", s.compiled},
                          {"rejected", s.rejected},
                          {"evicted", s.evicted},
                          {"weight_packs", packs.files},
                          {"weight_pack_bytes", packs.bytes},
                          {"tokenizer_images", images.files},
                          {"tokenizer_image_bytes", images.bytes},
                          {"files_limit_bytes", kCacheFilesLimit}};
  if (arguments.as_json) {
    print_json(d);
    return 0;
  }
  for (const auto& [name, value] : d.items())
    fmt::print("{}: {}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
  return 0;
}

Result<int> verify_rows(const CacheArguments& arguments) {
  EDGE_INFER_ASSIGN(const std::unique_ptr<KernelCache> cache, open_file());
  const std::vector<BadRow> bad = cache->verify();
  ordered_json list = ordered_json::array();
  for (const BadRow& row : bad) {
    list.push_back({{"table", row.table}, {"id", row.id}, {"reason", row.reason}});
    if (!arguments.as_json) fmt::print("{} {}: {} (deleted)\n", row.table, row.id, row.reason);
  }
  if (arguments.as_json)
    print_json({{"bad", list}});
  else if (bad.empty())
    fmt::print("every row holds\n");
  return bad.empty() ? 0 : 1;
}

Result<int> clear_rows(const CacheArguments& arguments) {
  EDGE_INFER_ASSIGN(const std::unique_ptr<KernelCache> cache, open_file());
  EDGE_INFER_RETURN_IF_ERROR(cache->clear());
  EDGE_INFER_RETURN_IF_ERROR(clear_cache_files(default_cache_dir()));
  if (arguments.as_json) print_json({{"cleared", true}});
  return 0;
}

Result<int> export_rows(const CacheArguments& arguments) {
  EDGE_INFER_ASSIGN(const std::unique_ptr<KernelCache> cache, open_file());
  EDGE_INFER_RETURN_IF_ERROR(cache->export_to(arguments.file));
  if (arguments.as_json) print_json({{"file", arguments.file}});
  return 0;
}

Result<int> import_rows(const CacheArguments& arguments) {
  EDGE_INFER_ASSIGN(const std::unique_ptr<KernelCache> cache, open_file());
  EDGE_INFER_ASSIGN(const ImportResult r, cache->import_from(arguments.file, arguments.trust));
  if (arguments.as_json) {
    print_json({{"kernels", r.kernels},
                {"entries", r.entries},
                {"graphs", r.graphs},
                {"tunings", r.tunings},
                {"gates", r.gates},
                {"dropped_kernels", r.dropped_kernels},
                {"dropped_entries", r.dropped_entries}});
    return 0;
  }
  fmt::print("taken: {} kernels, {} entries, {} graphs, {} measurements, {} precisions judged\n", r.kernels,
             r.entries, r.graphs, r.tunings, r.gates);
  if (r.dropped_kernels + r.dropped_entries > 0)
    fmt::print("dropped: {} kernels, {} entries{}\n", r.dropped_kernels, r.dropped_entries,
               arguments.trust ? "" : " (code is taken with --trust only)");
  return 0;
}

}  // namespace

void add_cache_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("cache", "look into the cache of compiled kernels, check or empty it");
  command->require_subcommand(1);
  auto arguments = std::make_shared<CacheArguments>();
  const auto add = [&](const char* name, const char* what, Result<int> (*run)(const CacheArguments&)) {
    CLI::App* sub = command->add_subcommand(name, what);
    sub->add_flag("--json", arguments->as_json, "JSON instead of text");
    sub->callback([arguments, run, &exit_code] {
      const Result<int> result = run(*arguments);
      exit_code = result ? *result : report_error(result.error());
    });
    return sub;
  };
  add("ls", "list graphs, entries, kernels and measurements", list_rows);
  add("stats", "counts, bytes, hits and misses", print_stats);
  add("verify", "check every row; deletes those that do not hold, exit code 1 when there are any",
      verify_rows);
  add("clear", "delete everything", clear_rows);
  CLI::App* export_command = add("export", "write everything to a file for another machine", export_rows);
  export_command->add_option("FILE", arguments->file, "the file to write")->required();
  CLI::App* import_command = add("import", "add what an exported file holds", import_rows);
  import_command->add_option("FILE", arguments->file, "the file to read")->required();
  import_command->add_flag(
      "--trust", arguments->trust,
      "take its code, too: it will run as this user; without, kernels and entries are dropped");
}

}  // namespace edge_infer
