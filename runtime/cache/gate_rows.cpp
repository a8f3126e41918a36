// What the precision gate found, as rows; and what there is of a graph.
#include "runtime/cache/cache_state.h"

namespace edge_infer {

using cache::now_ms;
using cache::Query;

namespace cache {

Status CacheState::store_gate(const GateKey& key, std::string_view text) {
  const std::string id = key.id(), mac = seal().seal({"gate", key.text(), text});
  EDGE_INFER_ASSIGN(Query q, connection().query("INSERT OR REPLACE INTO gate VALUES(?, ?, ?, ?, ?, ?, ?, ?, "
                                                "?, ?, ?, ?, ?)"));
  EDGE_INFER_RETURN_IF_ERROR(q.bind(id)
                                 .bind(key.entry.graph_hash)
                                 .bind(key.entry.target)
                                 .bind(key.entry.features)
                                 .bind(key.entry.settings)
                                 .bind(key.entry.options)
                                 .bind(key.entry.generator)
                                 .bind(key.entry.compiler)
                                 .bind(key.weights)
                                 .bind(key.rule)
                                 .bind(now_ms())
                                 .bind_blob(mac)
                                 .bind(text)
                                 .run());
  // A few hundred bytes each, so a number bounds them.
  return connection().run(
      "DELETE FROM gate WHERE id NOT IN (SELECT id FROM gate ORDER BY created DESC, id LIMIT 1000)");
}

}  // namespace cache

std::optional<GateVerdict> KernelCache::find_gate(const GateKey& key) {
  const std::string id = key.id();
  std::optional<GateVerdict> found;
  std::string why;
  {
    const std::lock_guard lock(state_->mutex);
    state_->attempt("reading what the gate found", [&]() -> Status {
      EDGE_INFER_ASSIGN(Query row,
                        state_->connection().query(
                            "SELECT graph_hash, target, features, settings, options, generator, compiler, "
                            "weights, rule, mac, text FROM gate WHERE id = ?"));
      EDGE_INFER_ASSIGN(const bool there, row.bind(id).step());
      if (!there) return {};
      const GateKey stored = cache::read_gate_key(row, 0);
      if (!(stored == key)) {
        why = "its key is " + stored.text();
      } else if (!state_->seal().holds(row.blob(9), {"gate", key.text(), row.text(10)})) {
        why = "not written by this installation, or damaged";
      } else if (auto verdict = parse_verdict(row.text(10))) {
        found = *std::move(verdict);
      } else {
        why = verdict.error().message;
      }
      return {};
    });
    if (!why.empty()) state_->reject("gate", id, why);
  }
  if (!found) add_event("miss", "gate:" + id, explain_miss(key).text());
  return found;
}

bool KernelCache::has_gates(const EntryKey& entry) {
  bool any = false;
  const std::lock_guard lock(state_->mutex);
  state_->attempt("looking for what the gate found", [&]() -> Status {
    EDGE_INFER_ASSIGN(Query row, state_->connection().query(
                                     "SELECT 1 FROM gate WHERE graph_hash = ? AND target = ? AND features = "
                                     "? AND settings = ? AND options = ? AND generator = ? AND compiler = ? "
                                     "LIMIT 1"));
    EDGE_INFER_ASSIGN(any, row.bind(entry.graph_hash)
                               .bind(entry.target)
                               .bind(entry.features)
                               .bind(entry.settings)
                               .bind(entry.options)
                               .bind(entry.generator)
                               .bind(entry.compiler)
                               .step());
    return {};
  });
  return any;
}

std::vector<std::pair<GateKey, GateVerdict>> KernelCache::gates_of(std::string_view graph_hash) {
  std::vector<std::pair<GateKey, GateVerdict>> found;
  const std::lock_guard lock(state_->mutex);
  state_->attempt("listing what the gate found", [&]() -> Status {
    EDGE_INFER_ASSIGN(
        Query row, state_->connection().query(
                       "SELECT graph_hash, target, features, settings, options, generator, compiler, "
                       "weights, rule, mac, text FROM gate WHERE graph_hash = ? ORDER BY target, settings, "
                       "id"));
    row.bind(graph_hash);
    while (true) {
      EDGE_INFER_ASSIGN(const bool there, row.step());
      if (!there) return {};
      GateKey key = cache::read_gate_key(row, 0);
      auto verdict = parse_verdict(row.text(10));
      if (verdict && state_->seal().holds(row.blob(9), {"gate", key.text(), row.text(10)}))
        found.emplace_back(std::move(key), *std::move(verdict));
    }
  });
  return found;
}

void KernelCache::put_gate(const GateKey& key, const GateVerdict& verdict) {
  const std::string text = print_verdict(verdict);
  const std::lock_guard lock(state_->mutex);
  state_->event("gate", "gate:" + key.id(), verdict.describe());
  state_->write("storing what the gate found", [&] { return state_->store_gate(key, text); });
}

std::vector<EntryKey> KernelCache::entries_of(std::string_view graph_hash) {
  std::vector<EntryKey> found;
  const std::lock_guard lock(state_->mutex);
  state_->attempt("listing a graph's entries", [&]() -> Status {
    EDGE_INFER_ASSIGN(
        Query row,
        state_->connection().query("SELECT graph_hash, target, features, settings, options, generator, "
                                   "compiler FROM entry WHERE graph_hash = ? ORDER BY target, settings, id"));
    row.bind(graph_hash);
    while (true) {
      EDGE_INFER_ASSIGN(const bool there, row.step());
      if (!there) return {};
      found.push_back(cache::read_entry_key(row, 0));
    }
  });
  return found;
}

}  // namespace edge_infer
