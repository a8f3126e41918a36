#include "apps/index/file_task.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace edge_infer {
namespace {

// File systems stamp times by a clock of some milliseconds: a file written twice within one tick looks
// untouched.
constexpr int64_t kClockTickNs = 50'000'000;
constexpr int kReadings = 3;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A stamp that may hide a later write is not kept, so that the next run compares the content.
FileStamp trusted_stamp(const FileStamp& stamp) {
  if (now_ns() - std::max(stamp.mtime_ns, stamp.ctime_ns) < kClockTickNs) return {};
  return stamp;
}

void set_failure(FileTask& task, const Error& error) {
  FileRecord& record = task.record;
  record.reason = error.message;
  record.status = error.code == ErrorCode::kUnsupported ? FileStatus::kSkipped : FileStatus::kFailed;
  if (error.code == ErrorCode::kCorruption || error.code == ErrorCode::kUnsupported) {
    task.outcome = FileTask::Outcome::kReplaced;  // the same bytes would fail again: remembered
  } else {
    task.outcome = FileTask::Outcome::kKept;
  }
}

void set_vanished(FileTask& task) {
  task.outcome = FileTask::Outcome::kGone;
  task.record.status = FileStatus::kSkipped;
  task.record.reason = "vanished while indexing";
}

void add_chunk(FileTask& task, Chunk&& chunk, const TokenRules& rules) {
  Encoding encoding;
  rules.tokenizer->encode(rules.prompt + chunk.embedded, rules.max_length, encoding);
  Passage passage;
  passage.hash = hash_bytes(chunk.embedded);
  passage.text = std::move(chunk.text);
  passage.heading = std::move(chunk.heading);
  passage.page = chunk.page;
  passage.start = chunk.start;
  passage.end = chunk.end;
  passage.tokens = static_cast<int64_t>(encoding.ids.size());
  task.passages.push_back(std::move(passage));
  task.ids.push_back(std::move(encoding.ids));
}

Status read_once(FileTask& task, const DocumentSource& source, const TokenRules& rules,
                 const StopReading& stop) {
  FileRecord& record = task.record;
  EDGE_INFER_ASSIGN(record.stamp, stamp_regular_file(task.found.path));
  EDGE_INFER_ASSIGN(record.hash, hash_file(task.found.path, stop));
  if (task.known && task.known->hash == record.hash && task.known->made_by == source.version) {
    const FileStamp stamp = record.stamp;
    record = *task.known;
    record.stamp = stamp;
    task.outcome = FileTask::Outcome::kTouched;
    return {};
  }
  EDGE_INFER_ASSIGN(const Document document, source.read(task.found.path, stop));
  record.format = document.format;
  record.title = document.title;
  task.passages.clear();
  task.ids.clear();
  for (Chunk& chunk : source.chunk(document, stop)) {
    if (stop()) return fail(ErrorCode::kCancelled, "stopped while it was read");
    add_chunk(task, std::move(chunk), rules);
  }
  record.status = task.passages.empty() ? FileStatus::kSkipped : FileStatus::kIndexed;
  record.reason = task.passages.empty() ? "no text in it" : document.note;
  task.outcome = FileTask::Outcome::kReplaced;
  return {};
}

}  // namespace

bool settle_by_stamp(FileTask& task, const std::string& version) {
  if (!task.known || task.known->stamp != task.found.stamp || task.known->made_by != version) return false;
  task.outcome = FileTask::Outcome::kUnchanged;
  task.record = *task.known;
  return true;
}

void read_task(FileTask& task, const DocumentSource& source, const TokenRules& rules,
               const StopReading& stop) {
  task.record.path = task.found.path;
  task.record.made_by = source.version;
  for (int reading = 1;; ++reading) {
    const Status status = read_once(task, source, rules, stop);
    const auto after = stamp_regular_file(task.found.path);
    const bool same = after && *after == task.record.stamp;
    if (!same && after && reading < kReadings && !stop()) continue;
    if (!status) {
      task.passages.clear();
      task.ids.clear();
      if (!after && after.error().code == ErrorCode::kNotFound)
        set_vanished(task);
      else if (!same)
        set_failure(task, {ErrorCode::kIoError, "changed while it was read: " + status.error().message});
      else
        set_failure(task, status.error());
    }
    task.record.stamp = same ? trusted_stamp(task.record.stamp) : FileStamp{};
    // Still changing: what was read is good enough for now, and the next run must not take it for the file's
    // content.
    if (!same) task.record.hash = {};
    return;
  }
}

}  // namespace edge_infer
