#include "apps/index/sqlite.h"

#include <sqlite3.h>
#include <sys/resource.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

namespace edge_infer {
namespace {

// How long a writer waits for another one before it gives up.
constexpr int kBusyTimeoutMs = 30'000;

// Whether a file of this connection has come so near to the size that this process may write that no page
// fits any more. SQLite forgets what the system said when a commit fails.
bool is_at_size_limit(sqlite3* connection) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  constexpr rlim_t kLargestWrite = 65536 + 32;
  const char* file = sqlite3_db_filename(connection, "main");
  for (const char* suffix : {"", "-wal", "-journal"}) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(std::string(file != nullptr ? file : "") + suffix, missing);
    if (!missing && size + kLargestWrite > limit.rlim_cur) return true;
  }
  return false;
}

// What the system said when SQLite could not read or write; 0: nothing. Asked right after the failed call.
int system_error_of(int code, sqlite3* connection) {
  const int kind = code & 0xff;
  const bool told = kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN;
  if (!told || connection == nullptr) return 0;
  return kind == SQLITE_IOERR && is_at_size_limit(connection) ? EFBIG : sqlite3_system_errno(connection);
}

ErrorCode error_code_of(int code, sqlite3* connection) {
  const int system = system_error_of(code, connection);
  if (system == EFBIG || system == ENOSPC || system == EDQUOT) return ErrorCode::kResourceExhausted;
  switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return ErrorCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_MISMATCH:
      return ErrorCode::kCorruption;
    case SQLITE_INTERRUPT:
      return ErrorCode::kCancelled;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return ErrorCode::kIoError;
    default:
      return ErrorCode::kInternal;
  }
}

std::string message_of(int code, sqlite3* connection) {
  const int system = system_error_of(code, connection);
  if (system == EFBIG) return "the file would grow beyond the size that this process may write (ulimit -f)";
  if (system == ENOSPC || system == EDQUOT) return "the disk is full";
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "the disk is full";
    case SQLITE_BUSY:
      return fmt::format("another process has been writing to it for {} s", kBusyTimeoutMs / 1000);
    case SQLITE_NOTADB:
      return "not an index: the file is no SQLite database";
    case SQLITE_CORRUPT:
      return "the index is damaged: delete the file and index again";
    default:
      break;
  }
  const std::string told = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  return system == 0 ? told : fmt::format("{}: {}", told, std::strerror(system));
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* s) const {
  sqlite3_finalize(s);
}
void Database::Close::operator()(sqlite3* c) const {
  sqlite3_close_v2(c);
}
void BlobHandle::Close::operator()(sqlite3_blob* b) const {
  sqlite3_blob_close(b);
}

Statement& Statement::bind(int index, int64_t value) {
  bind_error_ |= sqlite3_bind_int64(statement_.get(), index + 1, value);
  return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
  const char* data = text.data() != nullptr ? text.data() : "";
  bind_error_ |=
      sqlite3_bind_text64(statement_.get(), index + 1, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_blob(int index, std::span<const std::byte> bytes) {
  const void* data = bytes.data() != nullptr ? static_cast<const void*>(bytes.data()) : "";
  bind_error_ |= sqlite3_bind_blob64(statement_.get(), index + 1, data, bytes.size(), SQLITE_STATIC);
  return *this;
}

Result<bool> Statement::step() {
  sqlite3* connection = sqlite3_db_handle(statement_.get());
  if (std::exchange(bind_error_, 0) != 0)
    return fail(ErrorCode::kInternal, "cannot bind a value of \"{}\"", sqlite3_sql(statement_.get()));
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  const char* file = sqlite3_db_filename(connection, "main");
  Error error{error_code_of(code, connection),
              fmt::format("\"{}\": {}", file != nullptr ? file : "", message_of(code, connection))};
  sqlite3_reset(statement_.get());
  return std::unexpected(std::move(error));
}

Status Statement::run() {
  while (true) {
    EDGE_INFER_ASSIGN(const bool row, step());
    if (!row) return {};
  }
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}
bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::string_view Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (data == nullptr) return {};
  return {data, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::span<const std::byte> Statement::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  if (data == nullptr) return {};
  return {data, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Result<Database> Database::open(const std::filesystem::path& path, OpenMode mode, bool immutable) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  switch (mode) {
    case OpenMode::kReadOnly:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case OpenMode::kReadWrite:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case OpenMode::kCreate:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
  }
  std::string name = path.native();
  if (immutable) {
    flags |= SQLITE_OPEN_URI;
    name = "file:";
    for (const char c : path.native()) {
      if (c == '?' || c == '#' || c == '%')
        name += fmt::format("%{:02X}", static_cast<unsigned char>(c));
      else
        name += c;
    }
    name += "?immutable=1";
  } else if (name.starts_with("file:") || name.starts_with(':') || name.empty()) {
    name.insert(0, "./");  // never a URI or an in-memory database by accident
  }
  Database database;
  database.path_ = path;
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &connection, flags, nullptr);
  database.connection_.reset(connection);
  if (code != SQLITE_OK) return database.error(code);
  sqlite3_busy_timeout(connection, kBusyTimeoutMs);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  return database;
}

std::unexpected<Error> Database::error(int code) const {
  return fail(error_code_of(code, connection_.get()), "\"{}\": {}", path_.native(),
              message_of(code, connection_.get()));
}

Result<Statement> Database::prepare(std::string_view sql) const {
  Statement statement;
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v3(handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if (code != SQLITE_OK) return error(code);
  statement.statement_.reset(prepared);
  return statement;
}

Status Database::run(const std::string& sql) const {
  const int code = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code);
  return {};
}

Status Database::run_when_free(const std::function<Status()>& step) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kBusyTimeoutMs);
  constexpr std::chrono::milliseconds kPause{2};
  while (true) {
    Status done = step();
    const bool busy = !done && (sqlite3_errcode(handle()) & 0xff) == SQLITE_BUSY;
    if (done || !busy || std::chrono::steady_clock::now() >= deadline) return done;
    if (sqlite3_get_autocommit(handle()) == 0) EDGE_INFER_RETURN_IF_ERROR(run("ROLLBACK"));
    std::this_thread::sleep_for(kPause);
  }
}

Result<int64_t> Database::integer(std::string_view sql) const {
  EDGE_INFER_ASSIGN(Statement query, prepare(sql));
  EDGE_INFER_ASSIGN(const bool row, query.step());
  if (!row) return fail(ErrorCode::kCorruption, "\"{}\": no row from \"{}\"", path_.native(), sql);
  return query.integer(0);
}

Result<std::string> Database::text(std::string_view sql) const {
  EDGE_INFER_ASSIGN(Statement query, prepare(sql));
  EDGE_INFER_ASSIGN(const bool row, query.step());
  if (!row) return fail(ErrorCode::kCorruption, "\"{}\": no row from \"{}\"", path_.native(), sql);
  return std::string(query.text(0));
}

int64_t Database::last_insert_id() const {
  return sqlite3_last_insert_rowid(handle());
}
int64_t Database::changes() const {
  return sqlite3_changes64(handle());
}

Result<BlobHandle> BlobHandle::open(const Database& database, const char* table, const char* column,
                                    int64_t row, bool writable) {
  BlobHandle handle;
  handle.database_ = &database;
  sqlite3_blob* blob = nullptr;
  const int code = sqlite3_blob_open(database.handle(), "main", table, column, row, writable ? 1 : 0, &blob);
  handle.blob_.reset(blob);
  if (code != SQLITE_OK) return database.error(code);
  return handle;
}

Status BlobHandle::move_to(int64_t row) {
  const int code = sqlite3_blob_reopen(blob_.get(), row);
  if (code != SQLITE_OK) return database_->error(code);
  return {};
}

int64_t BlobHandle::size() const {
  return sqlite3_blob_bytes(blob_.get());
}

Status BlobHandle::read(std::span<std::byte> out, int64_t offset) const {
  const int code =
      sqlite3_blob_read(blob_.get(), out.data(), static_cast<int>(out.size()), static_cast<int>(offset));
  if (code != SQLITE_OK) return database_->error(code);
  return {};
}

Status BlobHandle::write(std::span<const std::byte> bytes, int64_t offset) {
  const int code =
      sqlite3_blob_write(blob_.get(), bytes.data(), static_cast<int>(bytes.size()), static_cast<int>(offset));
  if (code != SQLITE_OK) return database_->error(code);
  return {};
}

Result<Transaction> Transaction::begin(const Database& database) {
  EDGE_INFER_RETURN_IF_ERROR(database.run("BEGIN IMMEDIATE"));
  return Transaction(&database);
}

Transaction::~Transaction() {
  // After some errors (full disk) SQLite has rolled back by itself.
  if (database_ != nullptr && sqlite3_get_autocommit(database_->handle()) == 0)
    (void)database_->run("ROLLBACK");
}

Status Transaction::commit() {
  EDGE_INFER_RETURN_IF_ERROR(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace edge_infer
