// What the cache tells about itself: why a key missed, what happened, what is stored.
#include "runtime/cache/cache_state.h"

namespace edge_infer {

using cache::Connection;
using cache::Query;

namespace {

// The stored row that shares most with `key`, weighed by position: what says which code or graph it is comes
// first.
template <typename Key>
Status find_nearest(Connection& connection, const char* sql, std::initializer_list<std::string_view> values,
                    const Key& key, Key (*read)(const Query&, int), MissReason& reason) {
  EDGE_INFER_ASSIGN(Query row, connection.query(sql));
  for (const std::string_view value : values) row.bind(value);
  EDGE_INFER_ASSIGN(const bool there, row.step());
  if (!there) return {};
  reason.empty = false;
  reason.nearest = row.text(0);
  const KeyComponents stored = components(read(row, 1)), wanted = components(key);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (stored[i].second != wanted[i].second)
      reason.differences.push_back({wanted[i].first, stored[i].second, wanted[i].second});
  return {};
}

// "name=value;..." by its parts.
std::vector<std::pair<std::string, std::string>> parts_of(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(';'));
    const size_t equals = std::min(part.find('='), part.size());
    parts.emplace_back(part.substr(0, equals), part.substr(std::min(part.size(), equals + 1)));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return parts;
}

std::vector<MissReason::Difference> differences_of(std::string_view stored, std::string_view wanted) {
  std::vector<MissReason::Difference> differences;
  const auto has = parts_of(stored), wants = parts_of(wanted);
  for (const auto& [name, value] : wants) {
    std::string other = "none";
    for (const auto& [stored_name, stored_value] : has)
      if (stored_name == name) other = stored_value;
    if (other != value) differences.push_back({name, other, value});
  }
  return differences;
}

}  // namespace

MissReason KernelCache::explain_tuning_miss(std::string_view nest_hash, std::string_view target,
                                            std::string_view machine) {
  MissReason reason;
  const std::lock_guard lock(state_->mutex);
  state_->attempt("explaining a miss", [&]() -> Status {
    EDGE_INFER_ASSIGN(Query row,
                      state_->connection().query(
                          "SELECT id, description FROM machine WHERE id IN (SELECT machine FROM tuning WHERE "
                          "nest_hash = ? AND target = ?) AND description <> ? ORDER BY first_seen DESC"));
    row.bind(nest_hash).bind(target).bind(machine);
    while (true) {
      EDGE_INFER_ASSIGN(const bool there, row.step());
      if (!there) return {};
      auto differences = differences_of(row.text(1), machine);
      if (!reason.empty && differences.size() >= reason.differences.size()) continue;
      reason = {false, std::string(row.text(0)), std::move(differences)};
    }
  });
  return reason;
}

MissReason KernelCache::explain_miss(const KernelKey& key) {
  MissReason reason;
  const std::lock_guard lock(state_->mutex);
  state_->attempt("explaining a miss", [&] {
    return find_nearest<KernelKey>(
        state_->connection(),
        "SELECT id, target, features, compiler, generator, options, source_hash FROM kernel ORDER BY "
        "(source_hash = "
        "?1) * 8 + (target = ?2) * 2 + (features = ?3) + (compiler = ?4) + (generator = ?5) + (options = ?6) "
        "DESC, "
        "last_used DESC LIMIT 1",
        {key.source_hash, key.target, key.features, key.compiler, key.generator, key.options}, key,
        cache::read_kernel_key, reason);
  });
  return reason;
}

MissReason KernelCache::explain_miss(const EntryKey& key) {
  MissReason reason;
  const std::lock_guard lock(state_->mutex);
  state_->attempt("explaining a miss", [&] {
    return find_nearest<EntryKey>(
        state_->connection(),
        "SELECT id, graph_hash, target, features, settings, options, generator, compiler FROM entry ORDER BY "
        "(graph_hash = ?1) * 8 + (target = ?2) * 2 + (features = ?3) + (settings = ?4) + (options = ?5) + "
        "(generator = "
        "?6) + (compiler = ?7) DESC, last_used DESC LIMIT 1",
        {key.graph_hash, key.target, key.features, key.settings, key.options, key.generator, key.compiler},
        key, cache::read_entry_key, reason);
  });
  return reason;
}

MissReason KernelCache::explain_miss(const GateKey& key) {
  MissReason reason;
  const std::lock_guard lock(state_->mutex);
  state_->attempt("explaining a miss", [&] {
    const EntryKey& e = key.entry;
    return find_nearest<GateKey>(
        state_->connection(),
        "SELECT id, graph_hash, target, features, settings, options, generator, compiler, weights, rule FROM "
        "gate ORDER BY (graph_hash = ?1) * 16 + (weights = ?8) * 8 + (target = ?2) * 2 + (features = ?3) + "
        "(settings = ?4) + (options = ?5) + (generator = ?6) + (compiler = ?7) + (rule = ?9) DESC, created "
        "DESC LIMIT 1",
        {e.graph_hash, e.target, e.features, e.settings, e.options, e.generator, e.compiler, key.weights,
         key.rule},
        key, cache::read_gate_key, reason);
  });
  return reason;
}

void KernelCache::add_event(std::string_view kind, std::string_view what, std::string_view detail) {
  const std::lock_guard lock(state_->mutex);
  state_->event(kind, what, detail);
}

std::vector<CacheEvent> KernelCache::events(int64_t newest) {
  std::vector<CacheEvent> found;
  const std::lock_guard lock(state_->mutex);
  state_->flush();
  state_->attempt("reading events", [&]() -> Status {
    EDGE_INFER_ASSIGN(Query row,
                      state_->connection().query("SELECT time_ms, pid, kind, what, detail FROM event "
                                                 "ORDER BY id DESC LIMIT ?"));
    row.bind(newest);
    while (true) {
      EDGE_INFER_ASSIGN(const bool there, row.step());
      if (!there) return {};
      found.push_back({row.integer(0), row.integer(1), std::string(row.text(2)), std::string(row.text(3)),
                       std::string(row.text(4))});
    }
  });
  return {found.rbegin(), found.rend()};
}

CacheStats KernelCache::stats() {
  const std::lock_guard lock(state_->mutex);
  state_->flush();
  CacheStats s;
  s.reason = state_->reason();
  s.read_only = state_->read_only();
  s.limit_bytes = state_->options().limit_bytes;
  const bool read = state_->attempt("reading statistics", [&]() -> Status {
    Connection& c = state_->connection();
    const std::pair<int64_t*, const char*> numbers[] = {
        {&s.graphs, "SELECT count(*) FROM graph"},
        {&s.entries, "SELECT count(*) FROM entry"},
        {&s.kernels, "SELECT count(*) FROM kernel"},
        {&s.tunings, "SELECT count(*) FROM tuning"},
        {&s.bytes,
         "SELECT (SELECT ifnull(sum(bytes), 0) FROM kernel) + (SELECT ifnull(sum(bytes), 0) FROM entry) + "
         "(SELECT ifnull(sum(bytes), 0) FROM graph)"},
        {&s.hits, "SELECT ifnull(sum(value), 0) FROM counter WHERE name = 'hits'"},
        {&s.misses, "SELECT ifnull(sum(value), 0) FROM counter WHERE name = 'misses'"},
        {&s.compiled, "SELECT ifnull(sum(value), 0) FROM counter WHERE name = 'compiled'"},
        {&s.rejected, "SELECT ifnull(sum(value), 0) FROM counter WHERE name = 'rejected'"},
        {&s.evicted, "SELECT ifnull(sum(value), 0) FROM counter WHERE name = 'evicted'"}};
    for (const auto& [number, sql] : numbers) {
      EDGE_INFER_ASSIGN(*number, c.integer(sql));
    }
    return {};
  });
  if (read && !state_->in_memory()) s.file = state_->database().file.native();
  // What could not be written yet counts as well.
  s.hits += state_->counters.hits;
  s.misses += state_->counters.misses;
  s.compiled += state_->counters.compiled;
  s.rejected += state_->counters.rejected;
  s.evicted += state_->counters.evicted;
  return s;
}

std::vector<CacheRow> KernelCache::rows() {
  std::vector<CacheRow> found;
  std::string detail;
  const std::lock_guard lock(state_->mutex);
  const auto list = [&](const char* table, const char* sql, const auto& key_text) {
    state_->attempt("listing rows", [&]() -> Status {
      EDGE_INFER_ASSIGN(Query row, state_->connection().query(sql));
      while (true) {
        EDGE_INFER_ASSIGN(const bool there, row.step());
        if (!there) return {};
        detail.clear();
        found.push_back(
            {table, std::string(row.text(0)), key_text(row), row.integer(1), row.integer(2), row.integer(3)});
        found.back().detail = detail;
      }
    });
  };
  list("graph", "SELECT hash, bytes, created, created FROM graph ORDER BY hash",
       [](const Query&) { return std::string(); });
  list("entry",
       "SELECT id, bytes, created, last_used, graph_hash, target, features, settings, options, generator, "
       "compiler "
       "FROM entry ORDER BY id",
       [](const Query& row) { return cache::read_entry_key(row, 4).text(); });
  list("kernel",
       "SELECT id, bytes, created, last_used, target, features, compiler, generator, options, source_hash "
       "FROM kernel "
       "ORDER BY id",
       [](const Query& row) { return cache::read_kernel_key(row, 4).text(); });
  list("gate",
       "SELECT id, length(text), created, created, graph_hash, target, features, settings, options, "
       "generator, compiler, weights, rule, text FROM gate ORDER BY id",
       [&](const Query& row) {
         const auto verdict = parse_verdict(row.text(13));
         detail = verdict ? verdict->describe() : "damaged";
         return cache::read_gate_key(row, 4).text();
       });
  list("tuning",
       "SELECT nest_hash, length(nanoseconds), created, created, target, machine, schedule FROM tuning ORDER "
       "BY "
       "nest_hash, target, machine, schedule",
       [](const Query& row) { return fmt::format("{} {} {}", row.text(4), row.text(5), row.text(6)); });
  return found;
}

}  // namespace edge_infer
