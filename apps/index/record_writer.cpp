#include "apps/index/record_writer.h"

#include <string>
#include <utility>

namespace edge_infer {
namespace {

constexpr size_t kMaxWaiting = 256;

}  // namespace

Status RecordWriter::add(std::vector<std::shared_ptr<FileTask>> files) {
  bool documents = false;
  for (auto& task : files) {
    documents |= !task->passages.empty();
    waiting_.push_back(std::move(task));
  }
  return documents || waiting_.size() >= kMaxWaiting ? flush() : Status();
}

Status RecordWriter::flush() {
  if (waiting_.empty()) return {};
  EDGE_INFER_RETURN_IF_ERROR(store_.begin());
  for (const auto& task : waiting_) {
    const Status written = write(*task);
    if (!written) {
      store_.rollback();
      return written;
    }
  }
  EDGE_INFER_RETURN_IF_ERROR(store_.commit());
  for (const auto& task : waiting_) report_.end(*task);
  waiting_.clear();
  return {};
}

Status RecordWriter::write(const FileTask& task) {
  switch (task.outcome) {
    case FileTask::Outcome::kReplaced:
      return store_.put(task.record, task.passages);
    case FileTask::Outcome::kTouched:
      return store_.touch(task.record);
    case FileTask::Outcome::kGone: {
      EDGE_INFER_ASSIGN(const bool removed, store_.remove(task.found.path));
      report_.deleted(removed ? 1 : 0);
      return {};
    }
    case FileTask::Outcome::kUnchanged:
    case FileTask::Outcome::kKept:
      break;
  }
  return {};
}

Status RecordWriter::forget_gone(const WalkResult& walk) {
  EDGE_INFER_RETURN_IF_ERROR(store_.begin());
  for (const std::string& root : walk.roots) {
    EDGE_INFER_ASSIGN(const auto below, store_.paths_below(root));
    for (const std::string& path : below) {
      if (!walk.is_gone(path)) continue;
      EDGE_INFER_ASSIGN(const bool removed, store_.remove(path));
      report_.deleted(removed ? 1 : 0);
    }
  }
  return store_.commit();
}

}  // namespace edge_infer
