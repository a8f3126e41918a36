// A few threads that run tasks in the order they came: reading bodies, tokenizing and writing answers, so
// that the thread of the sockets never computes.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace edge_infer {

class WorkerPool {
 public:
  using Task = std::move_only_function<void()>;  // must not throw

  explicit WorkerPool(int threads);
  // Runs what is queued, then joins.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void post(Task task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace edge_infer
