// The index' own thin layer over SQLite: connections and statements that close themselves and answer with
// Result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

struct sqlite3;
struct sqlite3_stmt;
struct sqlite3_blob;

namespace edge_infer {

enum class OpenMode {
  kReadOnly,   // the file must exist
  kReadWrite,  // the file must exist
  kCreate,     // a missing file is created
};

// One prepared statement. Parameters and columns count from 0. Text and blobs are bound without a copy and
// must outlive the next step(); column views live until the next step() or reset(). Not thread-safe.
class Statement {
 public:
  Statement() = default;

  Statement& bind(int index, int64_t value);
  Statement& bind(int index, std::string_view text);
  Statement& bind_blob(int index, std::span<const std::byte> bytes);
  Statement& bind_blob(int index, std::string_view bytes) {
    return bind_blob(index, std::as_bytes(std::span(bytes)));
  }

  // True: a row is there. A bind that failed before is reported here. The statement resets itself at the end.
  Result<bool> step();
  // Runs to the end, ignoring rows.
  Status run();
  // Forgets the current row, so that the statement holds no read transaction open. The bindings stay.
  void reset();

  int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;
  std::span<const std::byte> blob(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* s) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_error_ = 0;
};

// One connection. May be handed from thread to thread, but is used by one at a time. Errors carry the file's
// name; kResourceExhausted: the disk or the file's size limit is full; kCorruption: not a database, or a
// damaged one.
class Database {
 public:
  // `immutable` reads a file that no process changes, without any lock or side file.
  static Result<Database> open(const std::filesystem::path& path, OpenMode mode, bool immutable = false);

  Result<Statement> prepare(std::string_view sql) const;
  // Runs one or more statements without parameters.
  Status run(const std::string& sql) const;
  // Runs `step` until no other connection is in its way, as long as a writer waits for another. For steps
  // that SQLite refuses at once instead of waiting, as it could be for ever: a reader that begins to write, a
  // change of the journal mode. Between attempts no transaction is open.
  Status run_when_free(const std::function<Status()>& step) const;
  // The first column of the first row as an integer.
  Result<int64_t> integer(std::string_view sql) const;
  Result<std::string> text(std::string_view sql) const;

  int64_t last_insert_id() const;
  int64_t changes() const;
  const std::filesystem::path& path() const { return path_; }
  sqlite3* handle() const { return connection_.get(); }

  // The Error of a SQLite result code on this connection.
  std::unexpected<Error> error(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* c) const;
  };
  std::unique_ptr<sqlite3, Close> connection_;
  std::filesystem::path path_;
};

// An open blob of one row, for reading and writing parts of it in place. Closes itself.
class BlobHandle {
 public:
  static Result<BlobHandle> open(const Database& database, const char* table, const char* column, int64_t row,
                                 bool writable);
  Status move_to(int64_t row);
  int64_t size() const;  // bytes
  Status read(std::span<std::byte> out, int64_t offset) const;
  Status write(std::span<const std::byte> bytes, int64_t offset);

 private:
  struct Close {
    void operator()(sqlite3_blob* b) const;
  };
  std::unique_ptr<sqlite3_blob, Close> blob_;
  const Database* database_ = nullptr;
};

// BEGIN IMMEDIATE ... COMMIT, rolled back on destruction when it was not committed.
class Transaction {
 public:
  static Result<Transaction> begin(const Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(const Database* database) : database_(database) {}
  const Database* database_;
};

}  // namespace edge_infer
