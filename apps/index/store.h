// The writer's side of an index file: what a file is known as, its passages and vectors, and how they change.
// Every change happens inside one transaction that the caller commits, so a process killed at any point
// leaves the state before or after it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/index/hash.h"
#include "apps/index/schema.h"
#include "apps/index/vector_blocks.h"
#include "runtime/base/mapped_file.h"

namespace edge_infer {

enum class FileStatus { kIndexed = 1, kFailed = 2, kSkipped = 3 };

// What the index knows of a file apart from its passages.
struct FileRecord {
  std::string path;  // bytes as the system has them, absolute
  FileStamp stamp;   // all zero: unknown, so the next run reads the file again
  ContentHash hash{};
  FileStatus status = FileStatus::kIndexed;
  std::string reason;  // why it failed or was skipped; of an indexed file Document::note
  std::string format;  // Document::format
  std::string title;
  std::string made_by;   // version of reader, chunker and their options; another one means: read again
  int64_t passages = 0;  // filled by find(), not written
};

struct Passage {
  std::string text, heading;
  int page = 0;
  int64_t start = 0, end = 0, tokens = 0;
  ContentHash hash{};         // of what was embedded
  std::vector<float> vector;  // of unit length
};

// One per process and thread of use: not thread-safe. Each call is valid only between begin() and commit()
// unless it says otherwise.
class IndexStore {
 public:
  // Opens or creates, and makes `space` the index' embedding space, or refuses when it has another one.
  static Result<std::unique_ptr<IndexStore>> open(const std::filesystem::path& path,
                                                  const EmbeddingSpace& space);
  ~IndexStore();

  Status begin();
  Status commit();
  void rollback();

  // Replaces what the index holds of record.path. Vectors of passages with a known hash are shared, not
  // stored again.
  Status put(const FileRecord& record, std::span<const Passage> passages);
  // Notes another stamp and reason of a known file and keeps its passages.
  Status touch(const FileRecord& record);
  // Forgets a file with its passages. False: it was not known.
  Result<bool> remove(std::string_view path);
  // Moves vectors out of the last blocks while more than a quarter of all places is free, merges the word
  // index when this store has dropped at least as many passages as are left, and returns free pages to the
  // system. Needs no transaction around it.
  Status compact();

  // Reading; inside or outside of a transaction.
  Result<std::optional<FileRecord>> find(std::string_view path);
  // Known files equal to `root` or below it.
  Result<std::vector<std::string>> paths_below(std::string_view root);
  Result<std::optional<std::vector<float>>> find_vector(const ContentHash& hash);

  const Database& database() const { return *database_; }
  int64_t dimensions() const { return dimensions_; }

 private:
  struct Statements;
  explicit IndexStore(std::unique_ptr<Database> database, int64_t dimensions);
  Result<int64_t> acquire_vector(const Passage& passage);
  Status release_passages(int64_t file);
  Status compact_once(bool& more);

  std::unique_ptr<Database> database_;
  int64_t dimensions_;
  int64_t dropped_passages_ = 0;  // since the word index was last merged
  std::optional<Transaction> transaction_;
  std::optional<VectorBlocks> blocks_;
  std::unique_ptr<Statements> s_;
};

}  // namespace edge_infer
