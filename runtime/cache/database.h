// The cache's file: found, created, set aside.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/cache/cache_folder.h"
#include "runtime/cache/seal.h"
#include "runtime/cache/sqlite.h"

namespace edge_infer::cache {

// PRAGMA user_version; a file with another one is set aside.
constexpr int64_t kSchemaVersion = 1;
// PRAGMA application_id: "eiKC".
constexpr int64_t kApplicationId = 0x65694b43;

struct Database {
  Connection connection;
  Seal seal;
  std::filesystem::path file;  // empty: in memory
  FileId id;
  std::string read_only{};  // why the file can only be read; empty: it can be written
  std::string set_aside;    // the name a damaged or foreign file got, if one was in the way
};

// kernels.db in `dir`; where nothing can be written there, the one that is there, to be read only. Errors:
// why the folder cannot be used.
Result<Database> open_database(const std::filesystem::path& dir);
Result<Database> open_in_memory();
// Renames the file of `database`, unless another process did, and opens a new one.
Result<Database> replace_database(const std::filesystem::path& dir, const FileId& damaged);

// Whether an open file is a cache of this version. Errors: kCorruption.
Status check_schema(Connection& connection);
Status create_schema(Connection& connection);

}  // namespace edge_infer::cache
