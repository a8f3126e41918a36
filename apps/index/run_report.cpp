#include "apps/index/run_report.h"

#include <algorithm>

namespace edge_infer {
namespace {

constexpr auto kProgressInterval = std::chrono::milliseconds(200);

// An empty file is work too.
double weight(const FileTask& task) {
  return static_cast<double>(task.found.stamp.size) + 512;
}

FileEventStatus event_status(const FileTask& task) {
  switch (task.record.status) {
    case FileStatus::kFailed:
      return FileEventStatus::kFailed;
    case FileStatus::kSkipped:
      return FileEventStatus::kSkipped;
    case FileStatus::kIndexed:
      break;
  }
  const bool fresh = task.outcome == FileTask::Outcome::kReplaced;
  return fresh ? FileEventStatus::kIndexed : FileEventStatus::kUnchanged;
}

}  // namespace

const char* file_event_name(FileEventStatus status) {
  switch (status) {
    case FileEventStatus::kIndexed:
      return "indexed";
    case FileEventStatus::kUnchanged:
      return "unchanged";
    case FileEventStatus::kFailed:
      return "failed";
    case FileEventStatus::kSkipped:
      return "skipped";
  }
  return "";
}

void RunReport::expect(const FileTask& task) {
  const std::lock_guard lock(mutex_);
  ++files_expected_;
  bytes_expected_ += weight(task);
}

void RunReport::refuse(const RefusedPath& path) {
  const std::lock_guard lock(mutex_);
  const bool failed = path.status == FileStatus::kFailed;
  send({path.path, failed ? FileEventStatus::kFailed : FileEventStatus::kSkipped, path.reason, 0});
}

void RunReport::miss(const std::string& path) {
  refuse({path, FileStatus::kFailed, "no such file or directory"});
  const std::lock_guard lock(mutex_);
  summary_.missing.push_back(path);
}

void RunReport::embedded(const Part& part) {
  const std::lock_guard lock(mutex_);
  for (const PassageOfTask& p : part.passages) {
    ++chunks_done_;
    ++p.task->chunks_counted;
    tokens_done_ += p.task->passages[p.passage].tokens;
    p.task->tokens_counted += p.task->passages[p.passage].tokens;
    count_bytes(*p.task, weight(*p.task) / static_cast<double>(p.task->missing.size()));
  }
  send_progress(false);
}

void RunReport::end(FileTask& task) {
  const std::lock_guard lock(mutex_);
  FileEvent event{task.found.path, event_status(task), task.record.reason, 0};
  if (event.status == FileEventStatus::kIndexed) {
    event.chunks = static_cast<int64_t>(task.passages.size());
    summary_.chunks += event.chunks;
    summary_.tokens += task.tokens_counted;
  } else if (task.known && task.outcome != FileTask::Outcome::kReplaced) {
    event.chunks = task.known->passages;
  }
  // Those whose vectors were known; and a file that is not stored after all takes its own back.
  chunks_done_ += (event.status == FileEventStatus::kIndexed ? event.chunks : 0) - task.chunks_counted;
  if (event.status != FileEventStatus::kIndexed) tokens_done_ -= task.tokens_counted;
  task.chunks_counted = task.tokens_counted = 0;
  if (task.outcome != FileTask::Outcome::kUnchanged) {
    ++files_expected_done_;
    count_bytes(task, weight(task) - task.bytes_counted);
  }
  send(event);
  send_progress(false);
}

void RunReport::deleted(int64_t files) {
  const std::lock_guard lock(mutex_);
  summary_.deleted += files;
}

IndexSummary RunReport::finish(bool cancelled) {
  const std::lock_guard lock(mutex_);
  // What a run that is told to stop has embedded and not stored is done again.
  chunks_done_ = summary_.chunks;
  tokens_done_ = summary_.tokens;
  send_progress(true);
  summary_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  summary_.cancelled = cancelled;
  return summary_;
}

void RunReport::count_bytes(FileTask& task, double bytes) {
  task.bytes_counted += bytes;
  bytes_done_ += bytes;
}

void RunReport::send(const FileEvent& event) {
  ++summary_.files;
  switch (event.status) {
    case FileEventStatus::kIndexed:
      ++summary_.indexed;
      break;
    case FileEventStatus::kUnchanged:
      ++summary_.unchanged;
      break;
    case FileEventStatus::kFailed:
      ++summary_.failed;
      break;
    case FileEventStatus::kSkipped:
      ++summary_.skipped;
      break;
  }
  observer_.file(event);
}

void RunReport::send_progress(bool always) {
  const auto now = Clock::now();
  if (!always && now < next_progress_) return;
  next_progress_ = now + kProgressInterval;
  IndexProgress p;
  p.files_done = summary_.files;
  p.files_total = summary_.files + files_expected_ - files_expected_done_;
  p.chunks = chunks_done_;
  p.tokens = tokens_done_;
  p.seconds = std::chrono::duration<double>(now - start_).count();
  p.tokens_per_second = p.seconds > 0 ? static_cast<double>(p.tokens) / p.seconds : 0;
  if (bytes_done_ > 0) p.eta_seconds = std::max(0.0, bytes_expected_ - bytes_done_) / bytes_done_ * p.seconds;
  observer_.progress(p);
}

}  // namespace edge_infer
