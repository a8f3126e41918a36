#include "runtime/cache/database.h"

#include <algorithm>
#include <ctime>
#include <vector>

#include "runtime/base/file_size_signal.h"

namespace edge_infer::cache {
namespace fs = std::filesystem;
namespace {

constexpr size_t kKeptAside = 3;

// Each component of a key has a column of its own, so that a miss can say what differed. `bytes` stands
// before the content, so that sums read no overflow page. Codes and texts are too large for WITHOUT ROWID.
constexpr const char* kSchema = R"(
CREATE TABLE graph(
  hash TEXT NOT NULL PRIMARY KEY, bytes INTEGER NOT NULL, created INTEGER NOT NULL, mac BLOB NOT NULL,
  text TEXT NOT NULL) STRICT;
CREATE TABLE entry(
  id TEXT NOT NULL PRIMARY KEY, graph_hash TEXT NOT NULL, target TEXT NOT NULL, features TEXT NOT NULL,
  settings TEXT NOT NULL, options TEXT NOT NULL, generator TEXT NOT NULL, compiler TEXT NOT NULL,
  bytes INTEGER NOT NULL, created INTEGER NOT NULL, last_used INTEGER NOT NULL, mac BLOB NOT NULL,
  text TEXT NOT NULL) STRICT;
CREATE INDEX entry_use ON entry(last_used, bytes);
CREATE TABLE kernel(
  id TEXT NOT NULL PRIMARY KEY, target TEXT NOT NULL, features TEXT NOT NULL, compiler TEXT NOT NULL,
  generator TEXT NOT NULL, options TEXT NOT NULL, source_hash TEXT NOT NULL,
  bytes INTEGER NOT NULL, created INTEGER NOT NULL, last_used INTEGER NOT NULL, mac BLOB NOT NULL,
  code BLOB NOT NULL) STRICT;
CREATE INDEX kernel_use ON kernel(last_used, bytes);
CREATE TABLE tuning(
  nest_hash TEXT NOT NULL, target TEXT NOT NULL, machine TEXT NOT NULL, schedule TEXT NOT NULL,
  nanoseconds TEXT NOT NULL, created INTEGER NOT NULL, mac BLOB NOT NULL,
  PRIMARY KEY(nest_hash, target, machine, schedule)) STRICT, WITHOUT ROWID;
CREATE TABLE machine(
  id TEXT NOT NULL PRIMARY KEY, description TEXT NOT NULL, first_seen INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE event(
  id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, pid INTEGER NOT NULL, kind TEXT NOT NULL, what TEXT NOT NULL,
  detail TEXT NOT NULL) STRICT;
CREATE TABLE claim(
  id TEXT NOT NULL PRIMARY KEY, pid INTEGER NOT NULL, started INTEGER NOT NULL, deadline_ms INTEGER NOT NULL)
  STRICT, WITHOUT ROWID;
CREATE TABLE counter(name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
)";

// Came later than the others: older programs do not mind it, and files of theirs get it when they are opened.
constexpr const char* kGateTable = R"(TABLE IF NOT EXISTS gate(
  id TEXT NOT NULL PRIMARY KEY, graph_hash TEXT NOT NULL, target TEXT NOT NULL, features TEXT NOT NULL,
  settings TEXT NOT NULL, options TEXT NOT NULL, generator TEXT NOT NULL, compiler TEXT NOT NULL,
  weights TEXT NOT NULL, rule TEXT NOT NULL, created INTEGER NOT NULL, mac BLOB NOT NULL, text TEXT NOT NULL)
  STRICT;
)";

Result<Connection> open_file(const fs::path& file) {
  EDGE_INFER_ASSIGN(Connection connection, Connection::open(file.native(), Connection::Mode::kReadWrite));
  EDGE_INFER_ASSIGN(const int64_t version, connection.integer("PRAGMA user_version"));
  if (version == 0) {
    EDGE_INFER_ASSIGN(const int64_t pages, connection.integer("PRAGMA page_count"));
    if (pages > 0) return fail(ErrorCode::kCorruption, "\"{}\" is another program's database", file.native());
    EDGE_INFER_RETURN_IF_ERROR(
        connection.script("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"));
    EDGE_INFER_RETURN_IF_ERROR(create_schema(connection));
  } else {
    EDGE_INFER_RETURN_IF_ERROR(check_schema(connection));
    EDGE_INFER_RETURN_IF_ERROR(connection.script(std::string("CREATE ") + kGateTable));
  }
  connection.checkpoint_on_close(false);
  return connection;
}

// Readers of a WAL need the files beside it, or to make them. Where neither is possible the file is read as
// it stands: what another process, for which it is writable, may do to it meanwhile shows as a damaged file
// or as rows whose seal does not hold.
Result<Connection> open_file_to_read(const fs::path& file) {
  const auto open = [&](Connection::Mode mode) -> Result<Connection> {
    EDGE_INFER_ASSIGN(Connection connection, Connection::open(file.native(), mode));
    EDGE_INFER_RETURN_IF_ERROR(check_schema(connection));
    EDGE_INFER_ASSIGN(const int64_t gates, connection.integer("SELECT count(*) FROM sqlite_schema WHERE "
                                                              "type = 'table' AND name = 'gate'"));
    if (gates == 0)  // an older program's
      EDGE_INFER_RETURN_IF_ERROR(
          connection.script(std::string("PRAGMA temp_store = MEMORY; CREATE TEMP ") + kGateTable));
    connection.checkpoint_on_close(false);
    return connection;
  };
  std::error_code error;
  if (fs::exists(file.native() + "-wal", error))
    if (auto connection = open(Connection::Mode::kReadOnly)) return connection;
  return open(Connection::Mode::kUnchanging);
}

// Errors: kIoError; also where there is nothing to read.
Result<Database> open_to_read(const TrustedFolder& folder) {
  const fs::path file = folder.path / "kernels.db";
  EDGE_INFER_ASSIGN(const bool exists, trusted_file(file));
  if (!exists) return fail(ErrorCode::kIoError, "{}", folder.read_only);
  EDGE_INFER_ASSIGN(const Seal seal, Seal::load_existing(folder.path / "kernels.key"));
  const FileId id = file_id(file);
  EDGE_INFER_ASSIGN(Connection connection, open_file_to_read(file));
  return Database{.connection = std::move(connection),
                  .seal = seal,
                  .file = file,
                  .id = id,
                  .read_only = folder.read_only,
                  .set_aside = {}};
}

// Under the FolderLock. The name that the file got.
std::string move_aside(const fs::path& file) {
  const std::string prefix = file.filename().native() + ".corrupt-";
  const std::string name = fmt::format("{}{}", prefix, static_cast<int64_t>(std::time(nullptr)));
  std::error_code error;
  for (const char* side : {"-wal", "-shm"}) fs::remove(file.native() + side, error);
  fs::rename(file, file.parent_path() / name, error);
  if (error) fs::remove(file, error);
  std::vector<fs::path> kept;
  for (const auto& entry : fs::directory_iterator(file.parent_path(), error))
    if (entry.path().filename().native().starts_with(prefix)) kept.push_back(entry.path());
  std::sort(kept.begin(), kept.end());
  for (size_t i = 0; i + kKeptAside < kept.size(); ++i) fs::remove(kept[i], error);
  return name;
}

Result<Database> open_locked(const fs::path& folder) {
  const fs::path file = folder / "kernels.db";
  EDGE_INFER_ASSIGN(Seal seal, Seal::load(folder / "kernels.key"));
  std::string aside;
  for (int attempt = 0;; ++attempt) {
    EDGE_INFER_ASSIGN(const bool exists, trusted_file(file));
    if (!exists) {
      // What a deleted file left beside it belongs to no new one.
      std::error_code error;
      for (const char* side : {"-wal", "-shm"}) fs::remove(file.native() + side, error);
      EDGE_INFER_RETURN_IF_ERROR(create_file(file));
    }
    const FileId id = file_id(file);
    auto connection = open_file(file);
    if (connection) return Database{*std::move(connection), seal, file, id, {}, aside};
    if (connection.error().code != ErrorCode::kCorruption || attempt > 0)
      return std::unexpected(connection.error());
    aside = move_aside(file);
  }
}

}  // namespace

Status check_schema(Connection& connection) {
  EDGE_INFER_ASSIGN(const int64_t application, connection.integer("PRAGMA application_id"));
  EDGE_INFER_ASSIGN(const int64_t version, connection.integer("PRAGMA user_version"));
  if (application != kApplicationId || version != kSchemaVersion)
    return fail(ErrorCode::kCorruption, "application {:#x} version {}, expected {:#x} version {}",
                application, version, kApplicationId, kSchemaVersion);
  return {};
}

Status create_schema(Connection& connection) {
  EDGE_INFER_ASSIGN(Transaction transaction, Transaction::begin(connection));
  EDGE_INFER_RETURN_IF_ERROR(connection.script(kSchema));
  EDGE_INFER_RETURN_IF_ERROR(connection.script(std::string("CREATE ") + kGateTable));
  EDGE_INFER_RETURN_IF_ERROR(connection.script(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId, kSchemaVersion)));
  return transaction.commit();
}

Result<Database> open_database(const fs::path& dir) {
  EDGE_INFER_ASSIGN(const TrustedFolder folder, trusted_folder(dir));
  if (!folder.read_only.empty()) return open_to_read(folder);
  const FileSizeSignalBlock no_signal;
  const FolderLock lock(folder.path);
  return open_locked(folder.path);
}

Result<Database> open_in_memory() {
  EDGE_INFER_ASSIGN(Connection connection, Connection::open(":memory:", Connection::Mode::kReadWrite));
  EDGE_INFER_RETURN_IF_ERROR(create_schema(connection));
  return Database{std::move(connection), Seal::random(), {}, {}, {}, {}};
}

Result<Database> replace_database(const fs::path& dir, const FileId& damaged) {
  EDGE_INFER_ASSIGN(const TrustedFolder folder, trusted_folder(dir));
  if (!folder.read_only.empty()) return fail(ErrorCode::kIoError, "{}", folder.read_only);
  const FileSizeSignalBlock no_signal;
  const FolderLock lock(folder.path);
  std::string aside;
  if (file_id(folder.path / "kernels.db") == damaged) aside = move_aside(folder.path / "kernels.db");
  EDGE_INFER_ASSIGN(Database database, open_locked(folder.path));
  if (database.set_aside.empty()) database.set_aside = aside;
  return database;
}

}  // namespace edge_infer::cache
