// Threads that read files, so that a worker which waits for a slow document can leave it to them and go on.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "apps/index/file_task.h"

namespace edge_infer {

class ReadingPool {
 public:
  // `read` must not throw. `callers`: how many threads call read() at a time, at most. Throws
  // std::system_error when the system gives it no thread at all.
  ReadingPool(int callers, std::function<void(FileTask&)> read);
  // Waits for the readings under way.
  ~ReadingPool();
  ReadingPool(const ReadingPool&) = delete;
  ReadingPool& operator=(const ReadingPool&) = delete;

  // Reads a file. False: it takes longer than a second, and comes from take_late() or wait_late() when it is
  // read. While kMostLate others are being read that are late, it waits on.
  bool read(const std::shared_ptr<FileTask>& task);

  // A late file that is read by now; null: there is none at the moment.
  std::shared_ptr<FileTask> take_late();
  // Waits for one; null: no file is late.
  std::shared_ptr<FileTask> wait_late();

  // Late readings take memory and processor time beside what the workers do.
  static constexpr int kMostLate = 4;

 private:
  struct Reading {
    std::shared_ptr<FileTask> task;
    bool done = false, late = false;
  };
  void work();
  std::shared_ptr<FileTask> pop_late();

  const std::function<void(FileTask&)> read_;
  std::mutex mutex_;
  std::condition_variable asked_, done_;
  std::deque<std::shared_ptr<Reading>> waiting_;
  std::deque<std::shared_ptr<FileTask>> late_;  // read
  int late_readings_ = 0;                       // under way
  bool ended_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace edge_infer
