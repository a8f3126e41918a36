// Checking and emptying the whole file.
#include <functional>

#include "runtime/cache/cache_state.h"
#include "runtime/cache/entry_text.h"

namespace edge_infer {

using cache::CacheState;
using cache::Query;

namespace {

constexpr const char* kBadSeal = "not written by this installation, or damaged";

// What is wrong with each row of a query, by a check that returns an empty text for a row that holds.
Status check_rows(CacheState& state, const char* table, const char* sql,
                  const std::function<std::string(const Query&)>& check, std::vector<BadRow>& bad) {
  EDGE_INFER_ASSIGN(Query row, state.connection().query(sql));
  while (true) {
    EDGE_INFER_ASSIGN(const bool there, row.step());
    if (!there) return {};
    if (std::string why = check(row); !why.empty())
      bad.push_back({table, std::string(row.text(0)), std::move(why)});
  }
}

std::string check_kernel(const CacheState& state, const Query& row) {
  const KernelKey key = cache::read_kernel_key(row, 1);
  const std::string_view code = row.blob(8);
  if (key.id() != row.text(0)) return "its key is " + key.text();
  if (!state.seal().holds(row.blob(7), {"kernel", key.text(), code})) return kBadSeal;
  if (row.integer(9) != static_cast<int64_t>(code.size())) return "its size is not that of its code";
  const auto blob = KernelBlob::parse(std::as_bytes(std::span(code)));
  return blob ? "" : blob.error().message;
}

std::string check_entry(const CacheState& state, const Query& row) {
  const EntryKey key = cache::read_entry_key(row, 1);
  if (key.id() != row.text(0)) return "its key is " + key.text();
  if (!state.seal().holds(row.blob(8), {"entry", key.text(), row.text(9)})) return kBadSeal;
  if (row.integer(10) != static_cast<int64_t>(row.text(9).size())) return "its size is not that of its text";
  const auto entry = parse_entry(row.text(9));
  return entry ? "" : entry.error().message;
}

std::string check_gate(const CacheState& state, const Query& row) {
  const GateKey key = cache::read_gate_key(row, 1);
  if (key.id() != row.text(0)) return "its key is " + key.text();
  if (!state.seal().holds(row.blob(10), {"gate", key.text(), row.text(11)})) return kBadSeal;
  const auto verdict = parse_verdict(row.text(11));
  return verdict ? "" : verdict.error().message;
}

std::string check_tuning(const CacheState& state, const Query& row) {
  const TuningRow r{std::string(row.text(0)),
                    std::string(row.text(1)),
                    std::string(row.text(2)),
                    std::string(row.text(3)),
                    {}};
  if (!state.seal().holds(row.blob(5), {"tuning", cache::tuning_key(r), row.text(4)})) return kBadSeal;
  return {};
}

}  // namespace

std::vector<BadRow> KernelCache::verify() {
  std::vector<BadRow> bad;
  const std::lock_guard lock(state_->mutex);
  CacheState& s = *state_;
  s.flush();
  s.attempt("checking the file", [&]() -> Status {
    std::string answer;
    {
      EDGE_INFER_ASSIGN(Query check, s.connection().query("PRAGMA quick_check(1)"));
      EDGE_INFER_ASSIGN(const bool row, check.step());
      answer = row ? check.text(0) : "no answer";
    }
    if (answer == "ok") return {};
    bad.push_back({"file", s.database().file.native(), answer});
    return fail(ErrorCode::kCorruption, "{}", answer);
  });
  if (!bad.empty()) return bad;
  const bool read = s.attempt("checking rows", [&]() -> Status {
    EDGE_INFER_RETURN_IF_ERROR(check_rows(
        s, "graph", "SELECT hash, mac, text FROM graph",
        [&](const Query& row) -> std::string {
          return s.seal().holds(row.blob(1), {"graph", row.text(0), row.text(2)}) ? "" : kBadSeal;
        },
        bad));
    EDGE_INFER_RETURN_IF_ERROR(check_rows(
        s, "entry",
        "SELECT id, graph_hash, target, features, settings, options, generator, compiler, mac, text, bytes "
        "FROM entry",
        [&](const Query& row) { return check_entry(s, row); }, bad));
    EDGE_INFER_RETURN_IF_ERROR(check_rows(
        s, "kernel",
        "SELECT id, target, features, compiler, generator, options, source_hash, mac, code, bytes FROM "
        "kernel",
        [&](const Query& row) { return check_kernel(s, row); }, bad));
    EDGE_INFER_RETURN_IF_ERROR(check_rows(
        s, "gate",
        "SELECT id, graph_hash, target, features, settings, options, generator, compiler, weights, rule, "
        "mac, text FROM gate",
        [&](const Query& row) { return check_gate(s, row); }, bad));
    return check_rows(
        s, "tuning", "SELECT nest_hash, target, machine, schedule, nanoseconds, mac FROM tuning",
        [&](const Query& row) { return check_tuning(s, row); }, bad);
  });
  if (!read) bad.push_back({"file", s.database().file.native(), "the file was damaged and set aside"});
  for (const BadRow& row : bad)
    if (row.table != "file") s.reject(row.table.c_str(), row.id, row.reason);
  return bad;
}

Status KernelCache::clear() {
  const std::lock_guard lock(state_->mutex);
  state_->unsaved.clear();
  Status result;
  const bool cleared = state_->write("clearing", [&] {
    return result = state_->connection().script(
               "DELETE FROM graph; DELETE FROM entry; DELETE FROM kernel; DELETE FROM tuning; "
               "DELETE FROM gate; DELETE FROM machine; DELETE FROM event; DELETE FROM counter;");
  });
  if (!cleared && result)
    return fail(ErrorCode::kIoError, "the cache cannot be written{}",
                state_->read_only() ? ": " + state_->reason() : "");
  if (cleared)
    state_->attempt("giving space back", [&] {
      return state_->connection().script("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);");
    });
  return result;
}

}  // namespace edge_infer
