// Export and import: the cache as a file for other machines and for installers.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/cache/cache_state.h"
#include "runtime/cache/entry_text.h"

namespace edge_infer {

using cache::CacheState;
using cache::Connection;
using cache::Query;
namespace fs = std::filesystem;

namespace {

// SQLite follows no link on the way to a file here, so the folder's own links are resolved first.
Result<fs::path> resolve(const fs::path& file) {
  std::error_code error;
  const fs::path folder = fs::canonical(fs::absolute(file, error).parent_path(), error);
  if (error) return fail(ErrorCode::kNotFound, "the folder of \"{}\": {}", file.native(), error.message());
  return folder / file.filename();
}

// An export holds nothing about what happened here.
Status strip(const fs::path& file) {
  EDGE_INFER_ASSIGN(Connection copy, Connection::open(file.native(), Connection::Mode::kReadWrite));
  return copy.script(
      "PRAGMA journal_mode = DELETE; DELETE FROM event; DELETE FROM claim; DELETE FROM counter; VACUUM;");
}

class Importer {
 public:
  Importer(CacheState& state, Connection& source, bool trust)
      : state_(state), source_(source), trust_(trust) {}

  Status run() {
    EDGE_INFER_RETURN_IF_ERROR(graphs());
    EDGE_INFER_RETURN_IF_ERROR(tunings());
    EDGE_INFER_RETURN_IF_ERROR(kernels());
    EDGE_INFER_RETURN_IF_ERROR(entries());
    if (trust_) EDGE_INFER_RETURN_IF_ERROR(gates());
    state_.event("import", trust_ ? "trusted" : "not trusted",
                 fmt::format("{} kernels, {} entries, {} graphs, {} measurements", result.kernels,
                             result.entries, result.graphs, result.tunings));
    return state_.evict();
  }

  ImportResult result;

 private:
  Status graphs() {
    EDGE_INFER_ASSIGN(Query row, source_.query("SELECT hash, text FROM graph"));
    while (true) {
      EDGE_INFER_ASSIGN(const bool there, row.step());
      if (!there) return {};
      EDGE_INFER_RETURN_IF_ERROR(state_.store_graph(row.text(0), row.text(1)));
      ++result.graphs;
    }
  }

  Status tunings() {
    EDGE_INFER_ASSIGN(Query row,
                      source_.query("SELECT nest_hash, target, machine, schedule, nanoseconds FROM tuning"));
    while (true) {
      EDGE_INFER_ASSIGN(const bool there, row.step());
      if (!there) return {};
      TuningRow r{std::string(row.text(0)),
                  std::string(row.text(1)),
                  std::string(row.text(2)),
                  std::string(row.text(3)),
                  {}};
      auto list = cache::parse_nanoseconds(row.text(4));
      if (!list) continue;
      r.nanoseconds = *std::move(list);
      EDGE_INFER_RETURN_IF_ERROR(state_.store_tuning(r));
      ++result.tunings;
    }
  }

  Status kernels() {
    EDGE_INFER_ASSIGN(Query row, source_.query("SELECT id, target, features, compiler, generator, options, "
                                               "source_hash, code, last_used FROM kernel"));
    while (true) {
      EDGE_INFER_ASSIGN(const bool there, row.step());
      if (!there) return {};
      const KernelKey key = cache::read_kernel_key(row, 1);
      const auto blob = KernelBlob::parse(std::as_bytes(std::span(row.blob(7))));
      if (!trust_ || !blob || key.id() != row.text(0) || !KernelKey::parse(key.text())) {
        ++result.dropped_kernels;
        continue;
      }
      EDGE_INFER_RETURN_IF_ERROR(state_.store_kernel(key, *blob, std::min(row.integer(8), cache::now_ms())));
      ++result.kernels;
    }
  }

  Status entries() {
    EDGE_INFER_ASSIGN(Query row, source_.query("SELECT id, graph_hash, target, features, settings, options, "
                                               "generator, compiler, text, last_used FROM entry"));
    while (true) {
      EDGE_INFER_ASSIGN(const bool there, row.step());
      if (!there) return {};
      const EntryKey key = cache::read_entry_key(row, 1);
      EDGE_INFER_ASSIGN(const bool complete, is_complete(row.text(8)));
      if (!trust_ || !complete || key.id() != row.text(0)) {
        ++result.dropped_entries;
        continue;
      }
      EDGE_INFER_RETURN_IF_ERROR(
          state_.store_entry(key, row.text(8), std::min(row.integer(9), cache::now_ms())));
      ++result.entries;
    }
  }

  // Exports of older programs have none.
  Status gates() {
    EDGE_INFER_ASSIGN(
        const int64_t tables,
        source_.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'gate'"));
    if (tables == 0) return {};
    EDGE_INFER_ASSIGN(Query row, source_.query("SELECT graph_hash, target, features, settings, options, "
                                               "generator, compiler, weights, rule, text FROM gate"));
    while (true) {
      EDGE_INFER_ASSIGN(const bool there, row.step());
      if (!there) return {};
      if (!parse_verdict(row.text(9))) continue;
      EDGE_INFER_RETURN_IF_ERROR(state_.store_gate(cache::read_gate_key(row, 0), row.text(9)));
      ++result.gates;
    }
  }

  // Well-formed, with all its compiled kernels here.
  Result<bool> is_complete(std::string_view text) {
    const auto entry = parse_entry(text);
    if (!entry) return false;
    constexpr std::string_view kPrefix = "kernel:";
    for (const KernelRef& kernel : entry->program.kernels) {
      if (!kernel.name.starts_with(kPrefix)) continue;
      EDGE_INFER_ASSIGN(const bool stored, state_.is_stored(kernel.name.substr(kPrefix.size())));
      if (!stored) return false;
    }
    return true;
  }

  CacheState& state_;
  Connection& source_;
  bool trust_;
};

Status check_export(Connection& source) {
  EDGE_INFER_RETURN_IF_ERROR(cache::check_schema(source));
  EDGE_INFER_ASSIGN(
      const int64_t tables,
      source.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('graph', "
                     "'entry', 'kernel', 'tuning')"));
  if (tables != 4) return fail(ErrorCode::kCorruption, "{} of 4 tables", tables);
  EDGE_INFER_ASSIGN(Query check, source.query("PRAGMA quick_check(1)"));
  EDGE_INFER_ASSIGN(const bool row, check.step());
  if (!row || check.text(0) != "ok")
    return fail(ErrorCode::kCorruption, "{}", row ? check.text(0) : "no answer");
  return {};
}

}  // namespace

Status KernelCache::export_to(const fs::path& file) {
  EDGE_INFER_ASSIGN(const fs::path target, resolve(file));
  const std::lock_guard lock(state_->mutex);
  std::error_code none;
  if (!state_->in_memory() && fs::equivalent(target, state_->database().file, none))
    return fail(ErrorCode::kInvalidArgument, "\"{}\" is the cache itself: export to another file",
                target.native());
  const std::string temporary = fmt::format("{}.part-{}", target.native(), ::getpid());
  std::error_code error;
  fs::remove(temporary, error);
  state_->flush();
  Status status = [&]() -> Status {
    EDGE_INFER_ASSIGN(Query q, state_->connection().query("VACUUM INTO ?"));
    return q.bind(temporary).run();
  }();
  if (status) status = strip(temporary);
  if (status && (::chmod(temporary.c_str(), 0600) != 0 || ::rename(temporary.c_str(), target.c_str()) != 0))
    status = fail(ErrorCode::kIoError, "cannot write \"{}\": {}", target.native(), std::strerror(errno));
  if (!status) {
    fs::remove(temporary, error);
    return fail(status.error().code == ErrorCode::kCorruption ? ErrorCode::kIoError : status.error().code,
                "exporting to \"{}\": {}", target.native(), status.error().message);
  }
  return {};
}

Result<ImportResult> KernelCache::import_from(const fs::path& file, bool trust) {
  EDGE_INFER_ASSIGN(const fs::path source_file, resolve(file));
  std::error_code error;
  if (!fs::exists(source_file, error)) return fail(ErrorCode::kNotFound, "no file \"{}\"", file.native());
  EDGE_INFER_ASSIGN(Connection source, Connection::open(source_file.native(), Connection::Mode::kReadOnly));
  if (const Status checked = check_export(source); !checked)
    return fail(checked.error().code, "\"{}\" is no exported kernel cache: {}", file.native(),
                checked.error().message);
  const std::lock_guard lock(state_->mutex);
  Importer importer(*state_, source, trust);
  Status status;
  const bool written = state_->write("importing", [&] { return status = importer.run(); });
  if (!status) return std::unexpected(status.error());
  if (!written) return fail(ErrorCode::kIoError, "the cache cannot be written");
  return importer.result;
}

}  // namespace edge_infer
