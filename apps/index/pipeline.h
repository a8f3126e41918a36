// Indexing a set of paths: walk, then read -> chunk -> tokenize -> embed -> store as a pipeline, then forget
// files that are gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/index/file_task.h"
#include "apps/index/store.h"
#include "models/embedder.h"

namespace edge_infer {

struct IndexOptions {
  std::vector<std::filesystem::path> paths;
  int threads = 0;  // workers of the whole run, all stages together; 0: the process' budget
  const std::atomic<bool>* cancel = nullptr;  // becomes true: end readings, store what is embedded, end
};

enum class FileEventStatus { kIndexed, kUnchanged, kFailed, kSkipped };
const char* file_event_name(FileEventStatus status);  // "indexed", ...

struct FileEvent {
  std::string path;  // bytes as the system has them
  FileEventStatus status = FileEventStatus::kIndexed;
  std::string reason;  // of kFailed and kSkipped; of an indexed file what a user should know of its reading
  int64_t chunks = 0;  // passages that the index holds of the file, as far as this run wrote or kept them
};

struct IndexProgress {
  int64_t files_done = 0, files_total = 0;
  // As the summary's, and of files in work the passages that have their vectors. What a run that is told to
  // stop embedded and does not store is not in its last event.
  int64_t chunks = 0;
  int64_t tokens = 0;  // embedded for these
  double seconds = 0;
  double tokens_per_second = 0;
  double eta_seconds = -1;  // from bytes left and bytes done; < 0: not known yet
};

struct IndexSummary {
  int64_t files = 0;  // looked at: indexed + unchanged + failed + skipped
  int64_t indexed = 0, unchanged = 0, deleted = 0, failed = 0, skipped = 0;
  int64_t chunks = 0;  // passages of the indexed files
  int64_t tokens = 0;  // embedded for these; less than theirs where vectors were reused
  double seconds = 0;
  bool cancelled = false;
  // Given paths that do not exist, and of which the index held nothing: probably mistyped. In `failed`, too.
  std::vector<std::string> missing;
};

// Calls come from any thread, one at a time.
class IndexObserver {
 public:
  virtual ~IndexObserver() = default;
  virtual void file(const FileEvent& event) = 0;
  virtual void progress(const IndexProgress& progress) = 0;
};

// Files that cannot be read are events, not errors. Errors: what ends the run (store full or damaged, a model
// that fails); documents stored before stay. `embedder` should take one worker a call: the pipeline calls it
// from as many threads as it may use, and from as many more as it has waiting_calls(). At most 2 x these
// threads files are in memory at a time, those of one part, and ReadingPool::kMostLate that are slow to read:
// the others do not wait for these. What the index holds in the end does not depend on the order in which
// files end.
Result<IndexSummary> index_files(IndexStore& store, const Embedder& embedder, const DocumentSource& source,
                                 const IndexOptions& options, IndexObserver& observer);

}  // namespace edge_infer
