#include "runtime/cache/kernel_cache.h"

#include "runtime/cache/cache_state.h"

namespace edge_infer {

using cache::now_ms;
using cache::Query;

std::unique_ptr<KernelCache> KernelCache::open(const Options& options) {
  return std::unique_ptr<KernelCache>(new KernelCache(std::make_shared<cache::CacheState>(options)));
}

KernelCache::~KernelCache() {
  flush();
}

bool KernelCache::keeps() const {
  const std::lock_guard lock(state_->mutex);
  return state_->keeps();
}

void KernelCache::flush() {
  const std::lock_guard lock(state_->mutex);
  state_->flush();
}

std::optional<KernelBlob> KernelCache::find_kernel(const KernelKey& key) {
  {
    const std::lock_guard lock(state_->mutex);
    if (auto found = state_->load_kernel(key.id(), &key)) {
      ++state_->counters.hits;
      return std::move(found->second);
    }
    ++state_->counters.misses;
  }
  const MissReason reason = explain_miss(key);
  add_event("miss", "kernel:" + key.id(), reason.text());
  return std::nullopt;
}

std::optional<KernelBlob> KernelCache::find_kernel(std::string_view name) {
  constexpr std::string_view kPrefix = "kernel:";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::lock_guard lock(state_->mutex);
  if (auto found = state_->load_kernel(std::string(name.substr(kPrefix.size())), nullptr)) {
    ++state_->counters.hits;
    return std::move(found->second);
  }
  ++state_->counters.misses;
  state_->event("miss", name, "no kernel of this name");
  return std::nullopt;
}

std::optional<KernelBlob> KernelCache::look_at_kernel(std::string_view name) {
  constexpr std::string_view kPrefix = "kernel:";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::lock_guard lock(state_->mutex);
  auto found = state_->load_kernel(std::string(name.substr(kPrefix.size())), nullptr);
  return found ? std::optional(std::move(found->second)) : std::nullopt;
}

void KernelCache::put_kernel(const KernelKey& key, const KernelBlob& blob) {
  const std::string id = key.id();
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->counters.compiled;
    state_->event("compiled", "kernel:" + id, fmt::format("{} bytes", blob.image.size()));
    const bool stored = state_->write("storing a kernel", [&]() -> Status {
      EDGE_INFER_RETURN_IF_ERROR(state_->store_kernel(key, blob, now_ms()));
      EDGE_INFER_ASSIGN(Query q, state_->connection().query("DELETE FROM claim WHERE id = ?"));
      EDGE_INFER_RETURN_IF_ERROR(q.bind(id).run());
      return state_->evict();
    });
    if (!stored) state_->unsaved.insert_or_assign(id, std::pair(key, blob));
    state_->in_flight.erase(id);
  }
  state_->changed.notify_all();
}

std::optional<std::string> KernelCache::find_entry(const EntryKey& key) {
  const std::string id = key.id();
  std::optional<std::string> found;
  std::string why;
  {
    const std::lock_guard lock(state_->mutex);
    state_->attempt("reading an entry", [&]() -> Status {
      EDGE_INFER_ASSIGN(Query row,
                        state_->connection().query(
                            "SELECT graph_hash, target, features, settings, options, generator, compiler, "
                            "last_used, mac, text FROM entry WHERE id = ?"));
      EDGE_INFER_ASSIGN(const bool there, row.bind(id).step());
      if (!there) return {};
      const EntryKey stored = cache::read_entry_key(row, 0);
      if (!(stored == key))
        why = "its key is " + stored.text();
      else if (!state_->seal().holds(row.blob(8), {"entry", key.text(), row.text(9)}))
        why = "not written by this installation, or damaged";
      else
        found = row.text(9);
      if (found) state_->touch("entry", id, row.integer(7));
      return {};
    });
    if (!why.empty()) state_->reject("entry", id, why);
    ++(found ? state_->counters.hits : state_->counters.misses);
  }
  if (!found) add_event("miss", "entry:" + id, explain_miss(key).text());
  return found;
}

bool KernelCache::has_entry(const EntryKey& key) {
  bool there = false;
  const std::lock_guard lock(state_->mutex);
  state_->attempt("looking for an entry", [&]() -> Status {
    EDGE_INFER_ASSIGN(Query row, state_->connection().query("SELECT 1 FROM entry WHERE id = ?"));
    EDGE_INFER_ASSIGN(there, row.bind(key.id()).step());
    return {};
  });
  return there;
}

std::optional<EntryKey> KernelCache::find_other_compiler(const EntryKey& key) {
  std::optional<EntryKey> found;
  const std::lock_guard lock(state_->mutex);
  state_->attempt("looking for an entry", [&]() -> Status {
    EDGE_INFER_ASSIGN(Query row,
                      state_->connection().query(
                          "SELECT graph_hash, target, features, settings, options, generator, compiler "
                          "FROM entry WHERE graph_hash = ? AND target = ? AND features = ? AND settings = ? "
                          "AND options = ? AND generator = ? ORDER BY last_used DESC LIMIT 1"));
    EDGE_INFER_ASSIGN(const bool there, row.bind(key.graph_hash)
                                            .bind(key.target)
                                            .bind(key.features)
                                            .bind(key.settings)
                                            .bind(key.options)
                                            .bind(key.generator)
                                            .step());
    if (there) found = cache::read_entry_key(row, 0);
    return {};
  });
  return found;
}

void KernelCache::put_entry(const EntryKey& key, std::string_view text) {
  const std::lock_guard lock(state_->mutex);
  state_->write("storing an entry", [&]() -> Status {
    EDGE_INFER_RETURN_IF_ERROR(state_->store_entry(key, text, now_ms()));
    return state_->evict();
  });
}

void KernelCache::drop_entry(const EntryKey& key, std::string_view why) {
  const std::lock_guard lock(state_->mutex);
  state_->reject("entry", key.id(), why);
}

std::optional<std::string> KernelCache::find_graph(std::string_view hash) {
  std::optional<std::string> found;
  bool bad = false;
  const std::lock_guard lock(state_->mutex);
  state_->attempt("reading a graph", [&]() -> Status {
    EDGE_INFER_ASSIGN(Query row, state_->connection().query("SELECT mac, text FROM graph WHERE hash = ?"));
    EDGE_INFER_ASSIGN(const bool there, row.bind(hash).step());
    if (!there) return {};
    bad = !state_->seal().holds(row.blob(0), {"graph", hash, row.text(1)});
    if (!bad) found = row.text(1);
    return {};
  });
  if (bad) state_->reject("graph", std::string(hash), "not written by this installation, or damaged");
  return found;
}

void KernelCache::put_graph(std::string_view hash, std::string_view text) {
  const std::lock_guard lock(state_->mutex);
  state_->write("storing a graph", [&]() -> Status {
    EDGE_INFER_RETURN_IF_ERROR(state_->store_graph(hash, text));
    return state_->evict();
  });
}

std::vector<TuningRow> KernelCache::find_tuning(std::string_view nest_hash, std::string_view target,
                                                std::string_view machine) {
  std::vector<TuningRow> found;
  bool bad = false;
  const std::lock_guard lock(state_->mutex);
  state_->attempt("reading measurements", [&]() -> Status {
    EDGE_INFER_ASSIGN(Query row,
                      state_->connection().query("SELECT schedule, nanoseconds, mac FROM tuning WHERE "
                                                 "nest_hash = ? AND target = ? AND machine = ?"));
    row.bind(nest_hash).bind(target).bind(machine);
    while (true) {
      EDGE_INFER_ASSIGN(const bool there, row.step());
      if (!there) return {};
      TuningRow r{
          std::string(nest_hash), std::string(target), std::string(machine), std::string(row.text(0)), {}};
      auto list = cache::parse_nanoseconds(row.text(1));
      if (!list || !state_->seal().holds(row.blob(2), {"tuning", cache::tuning_key(r), row.text(1)})) {
        bad = true;
        continue;
      }
      r.nanoseconds = *std::move(list);
      found.push_back(std::move(r));
    }
  });
  if (bad) {
    // The choice is to be made from all candidates or from none.
    state_->reject("tuning", std::string(nest_hash), "not written by this installation, or damaged");
    found.clear();
  }
  return found;
}

void KernelCache::put_tuning(std::span<const TuningRow> rows) {
  const std::lock_guard lock(state_->mutex);
  state_->write("storing measurements", [&]() -> Status {
    for (const TuningRow& row : rows) EDGE_INFER_RETURN_IF_ERROR(state_->store_tuning(row));
    return {};
  });
}

void KernelCache::put_machine(std::string_view id, std::string_view description) {
  const std::lock_guard lock(state_->mutex);
  state_->write("storing a machine", [&]() -> Status {
    EDGE_INFER_ASSIGN(Query q,
                      state_->connection().query("INSERT INTO machine VALUES(?, ?, ?) ON CONFLICT(id) DO "
                                                 "UPDATE SET description = excluded.description"));
    return q.bind(id).bind(description).bind(now_ms()).run();
  });
}

}  // namespace edge_infer
