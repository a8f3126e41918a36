// The last stage of a run: writes what became of files, several in one transaction.
#pragma once

#include <memory>
#include <vector>

#include "apps/index/file_task.h"
#include "apps/index/run_report.h"
#include "apps/index/store.h"
#include "apps/index/walk.h"

namespace edge_infer {

// Not thread-safe. After an error what waits is not written, and the index is as before the transaction.
class RecordWriter {
 public:
  RecordWriter(IndexStore& store, RunReport& report) : store_(store), report_(report) {}

  // Takes files that have all their vectors. Those with passages are written at once, with all that wait;
  // mere records (failures, new stamps) wait for them or until they are many.
  Status add(std::vector<std::shared_ptr<FileTask>> files);
  Status flush();
  // Removes the files below the walk's roots that are not there any more.
  Status forget_gone(const WalkResult& walk);

 private:
  Status write(const FileTask& task);

  IndexStore& store_;
  RunReport& report_;
  std::vector<std::shared_ptr<FileTask>> waiting_;
};

}  // namespace edge_infer
