// Which files an indexing run looks at: a walk over the given paths that cannot leave them, loop or block.
#pragma once

#include <atomic>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "apps/index/store.h"
#include "runtime/base/error.h"
#include "runtime/base/mapped_file.h"

namespace edge_infer {

struct FoundFile {
  std::string path;  // bytes, absolute, without links
  FileStamp stamp;
};

// A path that holds nothing to read, with the reason.
struct RefusedPath {
  std::string path;
  FileStatus status = FileStatus::kSkipped;  // kFailed: the system refused; kSkipped: by rule
  std::string reason;
};

struct WalkResult {
  std::vector<FoundFile> files;  // in order of path, without duplicates
  std::vector<RefusedPath> refused;
  std::vector<std::string> roots;       // the given paths, absolute, without links
  std::vector<std::string> missing;     // those of `roots` that do not exist, and "" where that was given
  std::vector<std::string> unreadable;  // folders whose content is unknown

  // True when the walk can say that nothing lies at `path` any more.
  bool is_gone(const std::string& path) const;
};

// A path that is given may be a link or hidden; below it links are skipped (what they name inside of the
// folder is found under its own name), hidden entries and the index' own files are passed over, and FIFOs,
// sockets and devices are skipped without being opened. Ends early when `cancel` becomes true.
WalkResult walk_files(std::span<const std::filesystem::path> paths, const std::filesystem::path& index_file,
                      const std::atomic<bool>& cancel);

// The stamp of a regular file, not following a link. Errors: kNotFound, kIoError, kUnsupported (another
// kind).
Result<FileStamp> stamp_regular_file(const std::string& path);

}  // namespace edge_infer
