#include "apps/index/store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "apps/index/text_query.h"

namespace edge_infer {
namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The parameters that insert_file and update_file share.
Statement& bind_record(Statement& write, const FileRecord& record) {
  return write.bind_blob(0, record.path)
      .bind(1, static_cast<int64_t>(record.stamp.device))
      .bind(2, static_cast<int64_t>(record.stamp.inode))
      .bind(3, static_cast<int64_t>(record.stamp.size))
      .bind(4, record.stamp.mtime_ns)
      .bind(5, record.stamp.ctime_ns)
      .bind_blob(6, record.hash)
      .bind(7, static_cast<int64_t>(record.status))
      .bind(8, record.reason)
      .bind(9, record.format)
      .bind(10, record.title)
      .bind(11, record.made_by);
}

}  // namespace

struct IndexStore::Statements {
  Statement find_file, paths_below, insert_file, update_file, delete_file;
  Statement find_vector, insert_vector, reference_vector, vectors_of_file, unreference_vector, delete_vector;
  Statement forget_words, delete_chunks, insert_chunk, insert_words;
  Statement vector_at_slot, move_vector, count_generation;

  static Result<std::unique_ptr<Statements>> prepare(const Database& db) {
    auto s = std::make_unique<Statements>();
    const std::pair<Statement*, std::string_view> all[] = {
        {&s->find_file,
         "SELECT id, device, inode, size, mtime_ns, ctime_ns, hash, status, reason, format, title, made_by, "
         "(SELECT coalesce(max(ordinal) + 1, 0) FROM chunk WHERE chunk.file = file.id) FROM file WHERE path "
         "= ?"},
        {&s->paths_below,
         "SELECT path FROM file WHERE path = ?1 OR (path >= ?2 AND path < ?3) ORDER BY path"},
        {&s->insert_file,
         "INSERT INTO file(path, device, inode, size, mtime_ns, ctime_ns, hash, status, reason, format, "
         "title, made_by) "
         "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
        {&s->update_file,
         "UPDATE file SET device = ?2, inode = ?3, size = ?4, mtime_ns = ?5, ctime_ns = ?6, hash = ?7, "
         "status = ?8, "
         "reason = ?9, format = ?10, title = ?11, made_by = ?12 WHERE path = ?1"},
        {&s->delete_file, "DELETE FROM file WHERE id = ?"},
        {&s->find_vector, "SELECT id, slot FROM vector WHERE hash = ?"},
        {&s->insert_vector, "INSERT INTO vector(hash, refs, slot) VALUES(?, 1, ?)"},
        {&s->reference_vector, "UPDATE vector SET refs = refs + 1 WHERE id = ?"},
        {&s->vectors_of_file, "SELECT vector, count(*) FROM chunk WHERE file = ? GROUP BY vector"},
        {&s->unreference_vector, "UPDATE vector SET refs = refs - ?2 WHERE id = ?1 RETURNING refs, slot"},
        {&s->delete_vector, "DELETE FROM vector WHERE id = ?"},
        {&s->forget_words,
         "INSERT INTO chunk_fts(chunk_fts, rowid, heading, text, cjk) SELECT 'delete', id, heading, text, "
         "cjk "
         "FROM chunk WHERE file = ?"},
        {&s->delete_chunks, "DELETE FROM chunk WHERE file = ?"},
        {&s->insert_chunk,
         "INSERT INTO chunk(file, ordinal, heading, text, cjk, page, start_byte, end_byte, tokens, vector) "
         "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
        {&s->insert_words, "INSERT INTO chunk_fts(rowid, heading, text, cjk) VALUES(?, ?, ?, ?)"},
        {&s->vector_at_slot, "SELECT id FROM vector WHERE slot = ?"},
        {&s->move_vector, "UPDATE vector SET slot = ? WHERE id = ?"},
        {&s->count_generation, "UPDATE space SET generation = generation + 1"},
    };
    for (const auto& [statement, sql] : all) {
      EDGE_INFER_ASSIGN(*statement, db.prepare(sql));
    }
    return s;
  }
};

IndexStore::IndexStore(std::unique_ptr<Database> database, int64_t dimensions)
    : database_(std::move(database)), dimensions_(dimensions) {}
IndexStore::~IndexStore() {
  rollback();
}

Result<std::unique_ptr<IndexStore>> IndexStore::open(const std::filesystem::path& path,
                                                     const EmbeddingSpace& space) {
  if (space.dimensions < 1 || space.dimensions > 65536)
    return fail(ErrorCode::kInvalidArgument, "a model with {} dimensions, expected 1 to 65536",
                space.dimensions);
  EDGE_INFER_ASSIGN(auto database, open_index(path, OpenMode::kCreate));
  EDGE_INFER_ASSIGN(Transaction transaction, Transaction::begin(*database));
  EDGE_INFER_RETURN_IF_ERROR(adopt_space(*database, space));
  EDGE_INFER_RETURN_IF_ERROR(transaction.commit());
  std::unique_ptr<IndexStore> store(new IndexStore(std::move(database), space.dimensions));
  EDGE_INFER_ASSIGN(store->blocks_, VectorBlocks::create(*store->database_, space.dimensions));
  EDGE_INFER_ASSIGN(store->s_, Statements::prepare(*store->database_));
  return store;
}

Status IndexStore::begin() {
  blocks_->forget();
  EDGE_INFER_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  transaction_.emplace(std::move(transaction));
  return {};
}

Status IndexStore::commit() {
  Status flushed = blocks_->flush();
  if (flushed) flushed = s_->count_generation.run();
  if (flushed) flushed = transaction_->commit();
  rollback();
  return flushed;
}

void IndexStore::rollback() {
  transaction_.reset();
  if (blocks_) blocks_->forget();
}

Result<std::optional<FileRecord>> IndexStore::find(std::string_view path) {
  Statement& q = s_->find_file;
  EDGE_INFER_ASSIGN(const bool row, q.bind_blob(0, path).step());
  if (!row) return std::nullopt;
  FileRecord record;
  record.path = path;
  record.stamp = {static_cast<uint64_t>(q.integer(1)), static_cast<uint64_t>(q.integer(2)),
                  static_cast<uint64_t>(q.integer(3)), q.integer(4), q.integer(5)};
  const auto hash = q.blob(6);
  std::memcpy(record.hash.data(), hash.data(), std::min(hash.size(), record.hash.size()));
  record.status = static_cast<FileStatus>(q.integer(7));
  record.reason = q.text(8);
  record.format = q.text(9);
  record.title = q.text(10);
  record.made_by = q.text(11);
  record.passages = q.integer(12);
  q.reset();
  return record;
}

Result<std::vector<std::string>> IndexStore::paths_below(std::string_view root) {
  // '0' is the byte after '/': the range holds exactly what starts with "root/".
  std::string first(root), past(root);
  if (!root.ends_with('/')) {
    first += '/';
    past += '0';
  } else {
    past.back() = '0';
  }
  Statement& q = s_->paths_below;
  q.bind_blob(0, root).bind_blob(1, first).bind_blob(2, past);
  std::vector<std::string> paths;
  while (true) {
    EDGE_INFER_ASSIGN(const bool row, q.step());
    if (!row) return paths;
    paths.emplace_back(as_text(q.blob(0)));
  }
}

Result<std::optional<std::vector<float>>> IndexStore::find_vector(const ContentHash& hash) {
  Statement& q = s_->find_vector;
  EDGE_INFER_ASSIGN(const bool row, q.bind_blob(0, hash).step());
  if (!row) return std::nullopt;
  const int64_t slot = q.integer(1);
  q.reset();
  std::vector<float> vector(static_cast<size_t>(dimensions_));
  EDGE_INFER_RETURN_IF_ERROR(blocks_->read(slot, vector));
  return vector;
}

Result<int64_t> IndexStore::acquire_vector(const Passage& passage) {
  Statement& find = s_->find_vector;
  EDGE_INFER_ASSIGN(const bool known, find.bind_blob(0, passage.hash).step());
  if (known) {
    const int64_t id = find.integer(0);
    find.reset();
    EDGE_INFER_RETURN_IF_ERROR(s_->reference_vector.bind(0, id).run());
    return id;
  }
  EDGE_INFER_ASSIGN(const int64_t slot, blocks_->add(passage.vector));
  EDGE_INFER_RETURN_IF_ERROR(s_->insert_vector.bind_blob(0, passage.hash).bind(1, slot).run());
  return database_->last_insert_id();
}

Status IndexStore::release_passages(int64_t file) {
  std::vector<std::pair<int64_t, int64_t>> counts;
  Statement& q = s_->vectors_of_file;
  q.bind(0, file);
  while (true) {
    EDGE_INFER_ASSIGN(const bool row, q.step());
    if (!row) break;
    counts.emplace_back(q.integer(0), q.integer(1));
  }
  EDGE_INFER_RETURN_IF_ERROR(s_->forget_words.bind(0, file).run());
  EDGE_INFER_RETURN_IF_ERROR(s_->delete_chunks.bind(0, file).run());
  for (const auto& [id, count] : counts) {
    Statement& drop = s_->unreference_vector;
    EDGE_INFER_ASSIGN(const bool row, drop.bind(0, id).bind(1, count).step());
    dropped_passages_ += count;
    if (!row)
      return fail(ErrorCode::kCorruption, "\"{}\": vector {} is missing", database_->path().native(), id);
    const int64_t refs = drop.integer(0), slot = drop.integer(1);
    EDGE_INFER_RETURN_IF_ERROR(drop.run());
    if (refs > 0) continue;
    EDGE_INFER_RETURN_IF_ERROR(s_->delete_vector.bind(0, id).run());
    EDGE_INFER_RETURN_IF_ERROR(blocks_->release(slot));
  }
  return {};
}

Status IndexStore::put(const FileRecord& record, std::span<const Passage> passages) {
  // New references first: a passage that stays keeps its vector's place.
  std::vector<int64_t> vectors;
  vectors.reserve(passages.size());
  for (const Passage& passage : passages) {
    EDGE_INFER_ASSIGN(const int64_t id, acquire_vector(passage));
    vectors.push_back(id);
  }
  Statement& find = s_->find_file;
  EDGE_INFER_ASSIGN(const bool known, find.bind_blob(0, record.path).step());
  int64_t file = known ? find.integer(0) : 0;
  find.reset();
  if (known) EDGE_INFER_RETURN_IF_ERROR(release_passages(file));
  Statement& write = known ? s_->update_file : s_->insert_file;
  EDGE_INFER_RETURN_IF_ERROR(bind_record(write, record).run());
  if (!known) file = database_->last_insert_id();

  for (size_t i = 0; i < passages.size(); ++i) {
    const Passage& p = passages[i];
    const std::string cjk = unspaced_bigrams(p.text);
    s_->insert_chunk.bind(0, file)
        .bind(1, static_cast<int64_t>(i))
        .bind(2, p.heading)
        .bind(3, p.text)
        .bind(4, cjk)
        .bind(5, int64_t{p.page})
        .bind(6, p.start)
        .bind(7, p.end)
        .bind(8, p.tokens)
        .bind(9, vectors[i]);
    EDGE_INFER_RETURN_IF_ERROR(s_->insert_chunk.run());
    const int64_t chunk = database_->last_insert_id();
    EDGE_INFER_RETURN_IF_ERROR(
        s_->insert_words.bind(0, chunk).bind(1, p.heading).bind(2, p.text).bind(3, cjk).run());
  }
  return {};
}

Status IndexStore::touch(const FileRecord& record) {
  return bind_record(s_->update_file, record).run();
}

Result<bool> IndexStore::remove(std::string_view path) {
  Statement& find = s_->find_file;
  EDGE_INFER_ASSIGN(const bool known, find.bind_blob(0, path).step());
  if (!known) return false;
  const int64_t file = find.integer(0);
  find.reset();
  EDGE_INFER_RETURN_IF_ERROR(release_passages(file));
  EDGE_INFER_RETURN_IF_ERROR(s_->delete_file.bind(0, file).run());
  return true;
}

Status IndexStore::compact_once(bool& more) {
  EDGE_INFER_ASSIGN(const int64_t blocks, database_->integer("SELECT count(*) FROM block"));
  EDGE_INFER_ASSIGN(const int64_t used, database_->integer("SELECT coalesce(sum(used), 0) FROM block"));
  const int64_t free = blocks * kBlockSlots - used;
  more = free >= 2 * kBlockSlots && free * 4 > blocks * kBlockSlots;
  if (!more) return {};
  EDGE_INFER_ASSIGN(const int64_t last, database_->integer("SELECT max(id) FROM block"));
  std::vector<float> vector(static_cast<size_t>(dimensions_));
  for (int64_t place = 0; place < kBlockSlots; ++place) {
    const int64_t slot = last * kBlockSlots + place;
    EDGE_INFER_ASSIGN(const bool live, s_->vector_at_slot.bind(0, slot).step());
    if (!live) continue;
    const int64_t id = s_->vector_at_slot.integer(0);
    s_->vector_at_slot.reset();
    EDGE_INFER_RETURN_IF_ERROR(blocks_->read(slot, vector));
    EDGE_INFER_ASSIGN(const int64_t target, blocks_->add(vector));
    if (target / kBlockSlots == last)
      return fail(ErrorCode::kCorruption, "\"{}\": no free place outside of block {}",
                  database_->path().native(), last);
    EDGE_INFER_RETURN_IF_ERROR(s_->move_vector.bind(0, target).bind(1, id).run());
    EDGE_INFER_RETURN_IF_ERROR(blocks_->release(slot));
  }
  return blocks_->flush();
}

Status IndexStore::compact() {
  bool more = true;
  while (more) {
    EDGE_INFER_RETURN_IF_ERROR(begin());
    const Status moved = compact_once(more);
    if (!moved) {
      rollback();
      return moved;
    }
    EDGE_INFER_RETURN_IF_ERROR(commit());
  }
  // FTS5 keeps the words of deleted passages until segments happen to merge; merging all of them costs as
  // much as what is left is large.
  EDGE_INFER_ASSIGN(const int64_t live, database_->integer("SELECT count(*) FROM chunk"));
  if (dropped_passages_ > 0 && dropped_passages_ >= live)
    EDGE_INFER_RETURN_IF_ERROR(database_->run("INSERT INTO chunk_fts(chunk_fts) VALUES('optimize')"));
  dropped_passages_ = 0;
  return database_->run("PRAGMA incremental_vacuum");
}

}  // namespace edge_infer
