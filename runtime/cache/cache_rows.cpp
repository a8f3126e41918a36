// Rows as the tables keep them: stored with a seal, authenticated when they are read.
#include <charconv>

#include "runtime/base/text_scanner.h"
#include "runtime/cache/cache_state.h"

namespace edge_infer::cache {
namespace {

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

KernelKey read_kernel_key(const Query& row, int first) {
  const auto column = [&](int i) { return std::string(row.text(first + i)); };
  return {.target = column(0),
          .features = column(1),
          .compiler = column(2),
          .generator = column(3),
          .options = column(4),
          .source_hash = column(5)};
}

EntryKey read_entry_key(const Query& row, int first) {
  const auto column = [&](int i) { return std::string(row.text(first + i)); };
  return {.graph_hash = column(0),
          .target = column(1),
          .features = column(2),
          .settings = column(3),
          .options = column(4),
          .generator = column(5),
          .compiler = column(6)};
}

GateKey read_gate_key(const Query& row, int first) {
  return {.entry = read_entry_key(row, first),
          .weights = std::string(row.text(first + 7)),
          .rule = std::string(row.text(first + 8))};
}

std::string tuning_key(const TuningRow& row) {
  return fmt::format("{} {} {} {}", quote_text(row.nest_hash), quote_text(row.target),
                     quote_text(row.machine), quote_text(row.schedule));
}

std::string print_nanoseconds(const std::vector<int64_t>& list) {
  std::string out;
  for (const int64_t ns : list) out += (out.empty() ? "" : ",") + std::to_string(ns);
  return out;
}

Result<std::vector<int64_t>> parse_nanoseconds(std::string_view text) {
  std::vector<int64_t> list;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    int64_t ns = 0;
    const auto [end, code] = std::from_chars(item.data(), item.data() + item.size(), ns);
    if (code != std::errc{} || end != item.data() + item.size())
      return fail(ErrorCode::kCorruption, "found {} where a number of nanoseconds is expected",
                  quote_text(item));
    list.push_back(ns);
    text.remove_prefix(std::min(text.size(), item.size() + 1));
  }
  return list;
}

std::optional<std::pair<KernelKey, KernelBlob>> CacheState::load_kernel(const std::string& id,
                                                                        const KernelKey* wanted) {
  std::optional<std::pair<KernelKey, KernelBlob>> found;
  std::string why;
  attempt("reading a kernel", [&]() -> Status {
    EDGE_INFER_ASSIGN(Query row,
                      connection().query("SELECT target, features, compiler, generator, options, "
                                         "source_hash, last_used, mac, code FROM kernel WHERE id = ?"));
    EDGE_INFER_ASSIGN(const bool there, row.bind(id).step());
    if (!there) return {};
    KernelKey key = read_kernel_key(row, 0);
    const std::string_view code = row.blob(8);
    if ((wanted != nullptr && !(key == *wanted)) || key.id() != id) {
      why = "its key is " + key.text();
    } else if (!seal().holds(row.blob(7), {"kernel", key.text(), code})) {
      why = "not written by this installation, or damaged";
    } else if (auto blob = KernelBlob::parse(std::as_bytes(std::span(code))); !blob) {
      why = blob.error().message;
    } else {
      touch("kernel", id, row.integer(6));
      found.emplace(std::move(key), *std::move(blob));
    }
    return {};
  });
  if (!why.empty()) reject("kernel", id, why);
  if (!found)
    if (const auto kept = unsaved.find(id); kept != unsaved.end()) found = kept->second;
  return found;
}

Result<bool> CacheState::is_stored(const std::string& id) {
  EDGE_INFER_ASSIGN(Query q, connection().query("SELECT 1 FROM kernel WHERE id = ?"));
  return q.bind(id).step();
}

Status CacheState::store_kernel(const KernelKey& key, const KernelBlob& blob, int64_t last_used) {
  const std::vector<std::byte> bytes = blob.serialize();
  const std::string_view code = text_of(bytes);
  const std::string id = key.id(), mac = seal().seal({"kernel", key.text(), code});
  EDGE_INFER_ASSIGN(Query q,
                    connection().query("INSERT OR REPLACE INTO kernel VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                                       "?, ?)"));
  return q.bind(id)
      .bind(key.target)
      .bind(key.features)
      .bind(key.compiler)
      .bind(key.generator)
      .bind(key.options)
      .bind(key.source_hash)
      .bind(static_cast<int64_t>(code.size()))
      .bind(now_ms())
      .bind(last_used)
      .bind_blob(mac)
      .bind_blob(code)
      .run();
}

Status CacheState::store_entry(const EntryKey& key, std::string_view text, int64_t last_used) {
  const std::string id = key.id(), mac = seal().seal({"entry", key.text(), text});
  EDGE_INFER_ASSIGN(Query q,
                    connection().query("INSERT OR REPLACE INTO entry VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                                       "?, ?, ?)"));
  return q.bind(id)
      .bind(key.graph_hash)
      .bind(key.target)
      .bind(key.features)
      .bind(key.settings)
      .bind(key.options)
      .bind(key.generator)
      .bind(key.compiler)
      .bind(static_cast<int64_t>(text.size()))
      .bind(now_ms())
      .bind(last_used)
      .bind_blob(mac)
      .bind(text)
      .run();
}

Status CacheState::store_graph(std::string_view hash, std::string_view text) {
  const std::string mac = seal().seal({"graph", hash, text});
  EDGE_INFER_ASSIGN(Query q, connection().query("INSERT OR REPLACE INTO graph VALUES(?, ?, ?, ?, ?)"));
  return q.bind(hash).bind(static_cast<int64_t>(text.size())).bind(now_ms()).bind_blob(mac).bind(text).run();
}

Status CacheState::store_tuning(const TuningRow& row) {
  const std::string list = print_nanoseconds(row.nanoseconds);
  const std::string mac = seal().seal({"tuning", tuning_key(row), list});
  EDGE_INFER_ASSIGN(Query q, connection().query("INSERT OR REPLACE INTO tuning VALUES(?, ?, ?, ?, ?, ?, ?)"));
  return q.bind(row.nest_hash)
      .bind(row.target)
      .bind(row.machine)
      .bind(row.schedule)
      .bind(list)
      .bind(now_ms())
      .bind_blob(mac)
      .run();
}

}  // namespace edge_infer::cache
