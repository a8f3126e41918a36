#include "apps/index/schema.h"

#include <sqlite3.h>

#include <string>
#include <system_error>

#include "apps/index/access.h"

namespace edge_infer {
namespace {

constexpr int64_t kApplicationId = 0x45444749;  // "EDGI"

struct Object {
  const char* name;
  const char* sql;
};

// Compared word for word with what a file holds, so that a file which only claims to be an index is refused.
constexpr Object kObjects[] = {
    {"space",
     "CREATE TABLE space(id INTEGER PRIMARY KEY CHECK(id = 1), model TEXT NOT NULL, fingerprint TEXT NOT "
     "NULL, "
     "dimensions INTEGER NOT NULL, generation INTEGER NOT NULL) STRICT"},
    {"file",
     "CREATE TABLE file(id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, device INTEGER NOT NULL, "
     "inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, "
     "hash BLOB NOT NULL, status INTEGER NOT NULL, reason TEXT NOT NULL, format TEXT NOT NULL, title TEXT "
     "NOT NULL, "
     "made_by TEXT NOT NULL) STRICT"},
    {"chunk",
     "CREATE TABLE chunk(id INTEGER PRIMARY KEY, file INTEGER NOT NULL REFERENCES file(id), ordinal INTEGER "
     "NOT NULL, "
     "heading TEXT NOT NULL, text TEXT NOT NULL, cjk TEXT NOT NULL, page INTEGER NOT NULL, "
     "start_byte INTEGER NOT NULL, end_byte INTEGER NOT NULL, tokens INTEGER NOT NULL, "
     "vector INTEGER NOT NULL REFERENCES vector(id), UNIQUE(file, ordinal)) STRICT"},
    {"chunk_vector", "CREATE INDEX chunk_vector ON chunk(vector)"},
    {"vector",
     "CREATE TABLE vector(id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, refs INTEGER NOT NULL, "
     "slot INTEGER NOT NULL UNIQUE) STRICT"},
    {"block", "CREATE TABLE block(id INTEGER PRIMARY KEY, used INTEGER NOT NULL, live BLOB NOT NULL) STRICT"},
    {"block_room", "CREATE INDEX block_room ON block(id) WHERE used < 256"},
    {"block_data", "CREATE TABLE block_data(id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT"},
    {"chunk_fts",
     "CREATE VIRTUAL TABLE chunk_fts USING fts5(heading, text, cjk, content='chunk', content_rowid='id', "
     "tokenize='porter unicode61 remove_diacritics 2')"},
};
static_assert(kBlockSlots == 256, "the index block_room names it");

Status create_schema(const Database& database) {
  // One transaction from the first byte on: a process killed here leaves an empty file or an index. The page
  // size and vacuum mode hold only before the first write; vectors are read block-wise, so larger pages mean
  // fewer steps.
  EDGE_INFER_RETURN_IF_ERROR(
      database.run("PRAGMA page_size = 16384; BEGIN; PRAGMA auto_vacuum = INCREMENTAL"));
  // Another process may have created it while this one waited for the lock.
  EDGE_INFER_ASSIGN(const int64_t objects, database.integer("SELECT count(*) FROM sqlite_schema"));
  if (objects == 0) {
    for (const Object& object : kObjects) EDGE_INFER_RETURN_IF_ERROR(database.run(object.sql));
    EDGE_INFER_RETURN_IF_ERROR(database.run(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kIndexVersion)));
  }
  return database.run("COMMIT");
}

Status check_schema(const Database& database) {
  const std::string& name = database.path().native();
  EDGE_INFER_ASSIGN(const int64_t id, database.integer("PRAGMA application_id"));
  if (id != kApplicationId)
    return fail(ErrorCode::kCorruption, "\"{}\" is a SQLite database, but not an edge-infer index", name);
  EDGE_INFER_ASSIGN(const int64_t version, database.integer("PRAGMA user_version"));
  if (version != kIndexVersion)
    return fail(ErrorCode::kUnsupported,
                "\"{}\" has index format {}, this program reads and writes format {}", name, version,
                kIndexVersion);
  EDGE_INFER_ASSIGN(Statement find, database.prepare("SELECT sql FROM sqlite_schema WHERE name = ?"));
  for (const Object& object : kObjects) {
    EDGE_INFER_ASSIGN(const bool row, find.bind(0, object.name).step());
    if (!row || find.text(0) != object.sql)
      return fail(ErrorCode::kCorruption, "\"{}\" is no intact index: \"{}\" is {}", name, object.name,
                  row ? "not as this version makes it" : "missing");
    find.reset();
  }
  EDGE_INFER_ASSIGN(const int64_t strange,
                    database.integer("SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')"));
  if (strange != 0)
    return fail(ErrorCode::kCorruption, "\"{}\" is no intact index: it holds triggers or views", name);
  return {};
}

Result<std::unique_ptr<Database>> open_checked(const std::filesystem::path& path, OpenMode mode,
                                               bool immutable) {
  EDGE_INFER_ASSIGN(Database opened, Database::open(path, mode, immutable));
  auto database = std::make_unique<Database>(std::move(opened));
  EDGE_INFER_RETURN_IF_ERROR(check_schema(*database));
  return database;
}

Result<std::unique_ptr<Database>> open_for_reading(const std::filesystem::path& path) {
  auto database = open_checked(path, OpenMode::kReadOnly, false);
  if (database || database.error().code != ErrorCode::kIoError) return database;
  // In a folder that cannot be written SQLite cannot make the side files of the write-ahead log. Without a
  // log beside it the file is complete, and can be read as it lies there.
  std::error_code ignored;
  const std::filesystem::path log = path.native() + "-wal";
  if (std::filesystem::file_size(log, ignored) > 0 && !ignored) return database;
  auto immutable = open_checked(path, OpenMode::kReadOnly, true);
  return immutable ? std::move(immutable) : std::move(database);
}

Result<std::unique_ptr<Database>> open_existing_or_new(const std::filesystem::path& path, OpenMode mode) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  const bool exists = std::filesystem::exists(status);
  if (!exists && mode != OpenMode::kCreate)
    return fail(ErrorCode::kNotFound, "there is no index \"{}\"", path.native());
  if (exists && !std::filesystem::is_regular_file(status))
    return fail(ErrorCode::kInvalidArgument, "\"{}\" is not a file that can hold an index", path.native());
  // SQLite would only say that it cannot open the file.
  const std::filesystem::path folder = path.parent_path();
  if (!exists && !folder.empty() && !std::filesystem::is_directory(folder, error))
    return fail(ErrorCode::kNotFound, "\"{}\": {} folder \"{}\"", path.native(),
                std::filesystem::exists(folder, error) ? "there is a file, but no" : "there is no",
                folder.native());
  if (mode == OpenMode::kReadOnly) return open_for_reading(path);

  const bool empty = !exists || std::filesystem::file_size(path, error) == 0;
  if (!empty) {
    // A first look that cannot write, so that a foreign file keeps every byte.
    auto looked = open_for_reading(path);
    if (!looked && looked.error().code != ErrorCode::kIoError) return std::unexpected(looked.error());
  }
  EDGE_INFER_ASSIGN(Database opened, Database::open(path, mode));
  auto database = std::make_unique<Database>(std::move(opened));
  const auto set_up = [&]() -> Status {
    EDGE_INFER_ASSIGN(const int64_t objects, database->integer("SELECT count(*) FROM sqlite_schema"));
    if (objects == 0 && mode == OpenMode::kCreate) EDGE_INFER_RETURN_IF_ERROR(create_schema(*database));
    EDGE_INFER_RETURN_IF_ERROR(check_schema(*database));
    return database->run("PRAGMA journal_mode = WAL");
  };
  EDGE_INFER_RETURN_IF_ERROR(database->run_when_free(set_up));
  // In WAL mode this loses at most the last documents when the power fails, never the file; a killed process
  // loses nothing.
  EDGE_INFER_RETURN_IF_ERROR(database->run("PRAGMA synchronous = NORMAL; PRAGMA cell_size_check = ON"));
  return database;
}

}  // namespace

Result<std::unique_ptr<Database>> open_index(const std::filesystem::path& path, OpenMode mode) {
  EDGE_INFER_RETURN_IF_ERROR(
      check_file_access(path, mode == OpenMode::kReadOnly ? Access::kRead : Access::kWrite));
  auto opened = open_existing_or_new(path, mode);
  // SQLite keeps files beside an index that it writes to.
  if (!opened && opened.error().code == ErrorCode::kIoError && mode != OpenMode::kReadOnly)
    EDGE_INFER_RETURN_IF_ERROR(check_folder_access(path));
  return opened;
}

Result<std::optional<EmbeddingSpace>> read_space(const Database& database) {
  EDGE_INFER_ASSIGN(Statement query, database.prepare("SELECT model, fingerprint, dimensions FROM space"));
  EDGE_INFER_ASSIGN(const bool row, query.step());
  if (!row) return std::nullopt;
  EmbeddingSpace space{std::string(query.text(0)), std::string(query.text(1)), query.integer(2)};
  if (space.dimensions < 1 || space.dimensions > 65536)
    return fail(ErrorCode::kCorruption, "\"{}\": vectors of {} dimensions, expected 1 to 65536",
                database.path().native(), space.dimensions);
  return space;
}

Status adopt_space(const Database& database, const EmbeddingSpace& space) {
  EDGE_INFER_ASSIGN(const std::optional<EmbeddingSpace> stored, read_space(database));
  if (stored) {
    EDGE_INFER_RETURN_IF_ERROR(check_same_space(database.path(), *stored, space));
    if (stored->model == space.model) return {};
    EDGE_INFER_ASSIGN(Statement move, database.prepare("UPDATE space SET model = ?"));
    return move.bind(0, space.model).run();
  }
  EDGE_INFER_ASSIGN(Statement insert,
                    database.prepare("INSERT INTO space(id, model, fingerprint, dimensions, generation) "
                                     "VALUES(1, ?, ?, ?, 0)"));
  return insert.bind(0, space.model).bind(1, space.fingerprint).bind(2, space.dimensions).run();
}

Status check_same_space(const std::filesystem::path& path, const EmbeddingSpace& stored,
                        const EmbeddingSpace& found) {
  if (stored.fingerprint == found.fingerprint && stored.dimensions == found.dimensions) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      "\"{}\" holds vectors of another model: made with \"{}\" ({} dimensions, fingerprint {}), given \"{}\" "
      "({} dimensions, fingerprint {}); use that model, or another index file",
      path.native(), stored.model, stored.dimensions, stored.fingerprint, found.model, found.dimensions,
      found.fingerprint);
}

}  // namespace edge_infer
