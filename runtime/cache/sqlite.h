// The cache's own thin layer over SQLite, apart from the index' one (apps/index): statements are prepared
// once, and any error of the fixed SQL here means a damaged file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace edge_infer::cache {

// One use of a prepared statement: bind in order, step, read columns (from 0). Text and blobs are bound
// without a copy and outlive the use; column views live until the next step. Ends with a reset, so that no
// read transaction stays open.
class Query {
 public:
  explicit Query(sqlite3_stmt* statement) : statement_(statement) {}
  Query(Query&& other) noexcept;
  Query& operator=(Query&&) = delete;
  ~Query();

  Query& bind(int64_t value);
  Query& bind(std::string_view text);
  Query& bind_blob(std::string_view bytes);
  // True: a row is there.
  Result<bool> step();
  // Runs to the end, ignoring rows.
  Status run();

  int64_t integer(int column) const;
  std::string_view text(int column) const;
  std::string_view blob(int column) const;

 private:
  sqlite3_stmt* statement_;
  int next_ = 1, bind_error_ = 0;
};

// One connection, used by one thread at a time. Errors: kCorruption (not a database, damaged, or without our
// tables), kResourceExhausted (full disk, memory), kIoError (locked, read-only, unreadable).
class Connection {
 public:
  // kUnchanging: as if nobody wrote to the file: without locks, a WAL or files beside it.
  enum class Mode { kUnchanging, kReadOnly, kReadWrite };
  // The file must exist; a name of ":memory:" is one in memory. Views and triggers of the file are never run.
  static Result<Connection> open(const std::string& name, Mode mode);

  // `sql` is a literal: statements are kept by its address.
  Result<Query> query(const char* sql);
  Status run(const char* sql);
  Status script(const std::string& sql);
  Result<int64_t> integer(const char* sql);
  int64_t changes() const;
  // Whether the last connection to close writes the WAL back into the file.
  void checkpoint_on_close(bool on);

 private:
  std::unexpected<Error> error(int code) const;
  struct Close {
    void operator()(sqlite3* c) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* s) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
  std::map<const char*, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
  std::string name_;
};

// BEGIN IMMEDIATE ... COMMIT; rolled back on destruction unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(Connection& connection);
  Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Connection* connection) : connection_(connection) {}
  Connection* connection_;
};

}  // namespace edge_infer::cache
