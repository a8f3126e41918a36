#include "runtime/cache/sqlite.h"

#include <sqlite3.h>

#include <utility>

#include "runtime/base/file_size_signal.h"

namespace edge_infer::cache {
namespace {

// Longer than any transaction of ours takes; whoever waits longer goes on without the cache.
constexpr int kBusyTimeoutMs = 3000;
constexpr int kMaxValueBytes = 64 << 20;

ErrorCode error_code_of(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return ErrorCode::kResourceExhausted;
    case SQLITE_ERROR:  // a table or column is missing
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_MISMATCH:
    case SQLITE_SCHEMA:
    case SQLITE_CONSTRAINT:
      return ErrorCode::kCorruption;
    default:
      return ErrorCode::kIoError;
  }
}

std::unexpected<Error> error_of(sqlite3* handle, int code, const std::string& name) {
  return fail(error_code_of(code), "\"{}\": {}", name,
              handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code));
}

std::string unchanging_uri(const std::string& name) {
  std::string uri = "file:";
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/';
    uri += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

}  // namespace

Query::Query(Query&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)),
      next_(other.next_),
      bind_error_(other.bind_error_) {}

Query::~Query() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Query& Query::bind(int64_t value) {
  bind_error_ |= sqlite3_bind_int64(statement_, next_++, value);
  return *this;
}

Query& Query::bind(std::string_view text) {
  const char* data = text.data() != nullptr ? text.data() : "";
  bind_error_ |= sqlite3_bind_text64(statement_, next_++, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Query& Query::bind_blob(std::string_view bytes) {
  const char* data = bytes.data() != nullptr ? bytes.data() : "";
  bind_error_ |= sqlite3_bind_blob64(statement_, next_++, data, bytes.size(), SQLITE_STATIC);
  return *this;
}

Result<bool> Query::step() {
  sqlite3* handle = sqlite3_db_handle(statement_);
  const int code = bind_error_ != 0 ? bind_error_ : sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const char* file = sqlite3_db_filename(handle, "main");
  return error_of(handle, code, file != nullptr ? file : "");
}

Status Query::run() {
  while (true) {
    EDGE_INFER_ASSIGN(const bool row, step());
    if (!row) return {};
  }
}

int64_t Query::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string_view Query::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view Query::blob(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

void Connection::Close::operator()(sqlite3* c) const {
  const FileSizeSignalBlock no_signal;  // the last one to close writes the WAL back
  sqlite3_close_v2(c);
}
void Connection::Finalize::operator()(sqlite3_stmt* s) const {
  sqlite3_finalize(s);
}

Result<Connection> Connection::open(const std::string& name, Mode mode) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW;
  flags |= mode == Mode::kReadWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  if (mode == Mode::kUnchanging) flags |= SQLITE_OPEN_URI;
  Connection connection;
  connection.name_ = name;
  sqlite3* handle = nullptr;
  const std::string file = mode == Mode::kUnchanging ? unchanging_uri(name) : name;
  const int code = sqlite3_open_v2(file.c_str(), &handle, flags, nullptr);
  connection.handle_.reset(handle);
  if (code != SQLITE_OK) return error_of(handle, code, name);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  for (const auto& [option, value] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                      {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                      {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                      {SQLITE_DBCONFIG_DQS_DML, 0},
                                      {SQLITE_DBCONFIG_DQS_DDL, 0}})
    sqlite3_db_config(handle, option, value, nullptr);
  EDGE_INFER_RETURN_IF_ERROR(
      connection.script("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA synchronous = NORMAL;"));
  return connection;
}

void Connection::checkpoint_on_close(bool on) {
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1, nullptr);
}

Result<Query> Connection::query(const char* sql) {
  auto& statement = statements_[sql];
  if (statement == nullptr) {
    sqlite3_stmt* prepared = nullptr;
    const int code =
        sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
    statement.reset(prepared);
    if (code != SQLITE_OK) return error(code);
  }
  return Query(statement.get());
}

Status Connection::run(const char* sql) {
  EDGE_INFER_ASSIGN(Query q, query(sql));
  return q.run();
}

Status Connection::script(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code);
  return {};
}

Result<int64_t> Connection::integer(const char* sql) {
  EDGE_INFER_ASSIGN(Query q, query(sql));
  EDGE_INFER_ASSIGN(const bool row, q.step());
  if (!row) return fail(ErrorCode::kCorruption, "\"{}\": no row of {}", name_, sql);
  return q.integer(0);
}

int64_t Connection::changes() const {
  return sqlite3_changes64(handle_.get());
}

std::unexpected<Error> Connection::error(int code) const {
  return error_of(handle_.get(), code, name_);
}

Result<Transaction> Transaction::begin(Connection& connection) {
  EDGE_INFER_RETURN_IF_ERROR(connection.run("BEGIN IMMEDIATE"));
  return Transaction(&connection);
}

Transaction::~Transaction() {
  if (connection_ != nullptr) (void)connection_->script("ROLLBACK");
}

Status Transaction::commit() {
  EDGE_INFER_RETURN_IF_ERROR(connection_->run("COMMIT"));
  connection_ = nullptr;
  return {};
}

}  // namespace edge_infer::cache
