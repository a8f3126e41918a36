// Where the cache lies, and whether code may be loaded from there.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/base/error.h"

namespace edge_infer::cache {

struct TrustedFolder {
  std::filesystem::path path;  // with symbolic links of its parents resolved
  std::string read_only;       // why nothing can be written there; empty: it can
};

// `dir`, created with mode 0700 where missing. Errors: kIoError with the reason why code from there would not
// be this user's own: the folder is a link or another user's, it or a parent can be written by others
// (parents: unless sticky), or the program runs with raised privileges; that it cannot be created or read.
Result<TrustedFolder> trusted_folder(const std::filesystem::path& dir);

// That `file` is a regular file of this user that nobody else may write, or does not exist (false).
Result<bool> trusted_file(const std::filesystem::path& file);

// Creates an empty file of mode 0600; one that exists is left alone.
Status create_file(const std::filesystem::path& file);

// Identity of the file at a path; 0, 0 where there is none.
struct FileId {
  uint64_t device = 0, inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};
FileId file_id(const std::filesystem::path& file);

// Held while files beside the database are created, renamed or removed: excludes other processes (flock on
// `kernels.lock`) and other threads. Without the file, only threads.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& dir);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

}  // namespace edge_infer::cache
