#include "runtime/cache/cache_state.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "runtime/base/cache_files.h"
#include "runtime/base/log.h"

namespace edge_infer::cache {
namespace {

constexpr int64_t kMaxEvents = 10'000;
constexpr size_t kMaxKeptEvents = 1'000;
constexpr size_t kMaxDetail = 4'096;
// After so many damaged files in one process something else is wrong: work in memory.
constexpr int kMaxReplaced = 3;
constexpr int kMaxLogged = 10;
constexpr uintmax_t kMaxWalBytes = 256 << 10;

}  // namespace

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

CacheState::CacheState(const KernelCache::Options& options) : options_(options) {
  if (options_.in_memory) {
    reason_ = "asked for";
    adopt(open_in_memory());
  } else {
    adopt(open_database(options_.dir));
  }
}

void CacheState::adopt(Result<Database> database) {
  if (database) {
    database_.emplace(*std::move(database));
    reason_ = read_only() ? database_->read_only : reason_;
    if (!database_->set_aside.empty()) {
      log_warning("kernel cache: the file was damaged or foreign and is now \"{}\"", database_->set_aside);
      event("corrupt", database_->file.native(), "set aside as " + database_->set_aside);
    }
    return;
  }
  reason_ = database.error().message;
  if (is_first_cache_warning(options_.dir)) log_warning("kernel cache: in memory only: {}", reason_);
  database_.reset();
  if (auto memory = open_in_memory()) database_.emplace(*std::move(memory));
}

void CacheState::ensure_file() {
  if (!database_ || in_memory() || file_id(database_->file) == database_->id) return;
  event("reopened", database_->file.native(), "the file was deleted or replaced");
  adopt(open_database(options_.dir));
}

void CacheState::recover(std::string_view what, const Error& error) {
  // A full disk fails every write in the same way.
  if (std::exchange(last_error_, error.message) != error.message && logged_++ < kMaxLogged)
    log_warning("kernel cache: {}: {}", what, error.message);
  if (error.code != ErrorCode::kCorruption || in_memory()) return;
  if (read_only()) return adopt(std::unexpected(error));
  if (replaced_++ < kMaxReplaced) {
    const FileId damaged = database_->id;
    database_.reset();
    adopt(replace_database(options_.dir, damaged));
  } else {
    adopt(fail(ErrorCode::kIoError, "{} damaged files in this process", replaced_ - 1));
  }
}

void CacheState::say_unkept() const {
  if (is_first_cache_warning(options_.dir)) log_warning("kernel cache: nothing new is kept: {}", reason_);
}

void CacheState::event(std::string_view kind, std::string_view what, std::string_view detail) {
  if (events_.size() >= kMaxKeptEvents) return;
  events_.push_back({now_ms(), ::getpid(), std::string(kind), std::string(what.substr(0, kMaxDetail)),
                     std::string(detail.substr(0, kMaxDetail))});
}

void CacheState::touch(const char* table, std::string id, int64_t last_used) {
  const int64_t now = now_ms();
  if (now - last_used >= options_.touch_seconds * 1000) touched_[{table, std::move(id)}] = now;
}

CacheState::Kept CacheState::take_kept() {
  return {std::exchange(counters, {}), std::exchange(events_, {}), std::exchange(touched_, {})};
}

void CacheState::give_back(Kept kept) {
  counters.hits += kept.counters.hits;
  counters.misses += kept.counters.misses;
  counters.compiled += kept.counters.compiled;
  counters.rejected += kept.counters.rejected;
  counters.evicted += kept.counters.evicted;
  events_.insert(events_.begin(), kept.events.begin(), kept.events.end());
  if (events_.size() > kMaxKeptEvents) events_.resize(kMaxKeptEvents);
  touched_.merge(kept.touched);
}

Status CacheState::write_kept(const Kept& kept) {
  const std::pair<const char*, int64_t> counts[] = {{"hits", kept.counters.hits},
                                                    {"misses", kept.counters.misses},
                                                    {"compiled", kept.counters.compiled},
                                                    {"rejected", kept.counters.rejected},
                                                    {"evicted", kept.counters.evicted}};
  for (const auto& [name, value] : counts) {
    if (value == 0) continue;
    EDGE_INFER_ASSIGN(Query q,
                      connection().query("INSERT INTO counter VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE "
                                         "SET value = value + excluded.value"));
    EDGE_INFER_RETURN_IF_ERROR(q.bind(name).bind(value).run());
  }
  for (const CacheEvent& e : kept.events) {
    EDGE_INFER_ASSIGN(Query q, connection().query("INSERT INTO event(time_ms, pid, kind, what, detail) "
                                                  "VALUES(?, ?, ?, ?, ?)"));
    EDGE_INFER_RETURN_IF_ERROR(q.bind(e.time_ms).bind(e.pid).bind(e.kind).bind(e.what).bind(e.detail).run());
  }
  if (!kept.events.empty()) {
    EDGE_INFER_ASSIGN(Query q,
                      connection().query("DELETE FROM event WHERE id <= (SELECT max(id) FROM event) - ?"));
    EDGE_INFER_RETURN_IF_ERROR(q.bind(kMaxEvents).run());
  }
  for (const auto& [row, time] : kept.touched) {
    const bool kernel = std::string_view(row.first) == "kernel";
    EDGE_INFER_ASSIGN(Query q, connection().query(kernel ? "UPDATE kernel SET last_used = ? WHERE id = ?"
                                                         : "UPDATE entry SET last_used = ? WHERE id = ?"));
    EDGE_INFER_RETURN_IF_ERROR(q.bind(time).bind(row.second).run());
  }
  return {};
}

void CacheState::flush() {
  const bool counted =
      counters.hits + counters.misses + counters.compiled + counters.rejected + counters.evicted > 0;
  if (!counted && events_.empty() && touched_.empty()) return;
  if (!write(kCounters, []() -> Status { return {}; }) || in_memory()) return;
  // A WAL of processes that wrote counters only grows until one of them writes it back, and every opening
  // reads it.
  std::error_code error;
  const auto bytes = std::filesystem::file_size(database_->file.native() + "-wal", error);
  if (!error && bytes > kMaxWalBytes) connection().checkpoint_on_close(true);
}

void CacheState::reject(const char* table, const std::string& id, std::string_view why) {
  ++counters.rejected;
  event("rejected", fmt::format("{}:{}", table, id), why);
  if (logged_++ < kMaxLogged) log_warning("kernel cache: {} {} rejected: {}", table, id, why);
  if (read_only()) return;
  attempt("deleting a row", [&]() -> Status {
    const std::string_view t = table;
    EDGE_INFER_ASSIGN(Query q, connection().query(t == "kernel"  ? "DELETE FROM kernel WHERE id = ?"
                                                  : t == "entry" ? "DELETE FROM entry WHERE id = ?"
                                                  : t == "gate"  ? "DELETE FROM gate WHERE id = ?"
                                                  : t == "graph" ? "DELETE FROM graph WHERE hash = ?"
                                                                 : "DELETE FROM tuning WHERE nest_hash = ?"));
    return q.bind(id).run();
  });
}

Status CacheState::evict() {
  EDGE_INFER_ASSIGN(
      int64_t total,
      connection().integer("SELECT (SELECT ifnull(sum(bytes), 0) FROM kernel) + (SELECT "
                           "ifnull(sum(bytes), 0) FROM entry) + (SELECT ifnull(sum(bytes), 0) FROM graph)"));
  bool any = false;
  while (total > options_.limit_bytes) {
    EDGE_INFER_ASSIGN(
        Query oldest,
        connection().query("SELECT t, id, bytes FROM (SELECT 0 AS t, id, bytes, last_used FROM kernel "
                           "UNION ALL SELECT 1, id, bytes, last_used FROM entry UNION ALL SELECT 2, hash, "
                           "bytes, 0 FROM graph WHERE NOT EXISTS (SELECT 1 FROM entry WHERE graph_hash = "
                           "hash)) ORDER BY last_used, t DESC LIMIT 1"));
    EDGE_INFER_ASSIGN(const bool row, oldest.step());
    if (!row) break;
    const int64_t table = oldest.integer(0);
    const std::string id(oldest.text(1));
    total -= oldest.integer(2);
    EDGE_INFER_ASSIGN(Query q, connection().query(table == 0   ? "DELETE FROM kernel WHERE id = ?"
                                                  : table == 1 ? "DELETE FROM entry WHERE id = ?"
                                                               : "DELETE FROM graph WHERE hash = ?"));
    EDGE_INFER_RETURN_IF_ERROR(q.bind(id).run());
    ++counters.evicted;
    event("evicted",
          fmt::format("{}:{}",
                      table == 0   ? "kernel"
                      : table == 1 ? "entry"
                                   : "graph",
                      id),
          fmt::format("limit of {} bytes", options_.limit_bytes));
    any = true;
  }
  if (any) EDGE_INFER_RETURN_IF_ERROR(connection().run("PRAGMA incremental_vacuum(256)"));
  return {};
}

}  // namespace edge_infer::cache
