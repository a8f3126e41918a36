#include "apps/index/reading_pool.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace edge_infer {
namespace {

constexpr std::chrono::seconds kPatience{1};

}  // namespace

ReadingPool::ReadingPool(int callers, std::function<void(FileTask&)> read) : read_(std::move(read)) {
  for (int i = 0; i < callers + kMostLate; ++i) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) throw;
      return;  // fewer will do
    }
  }
}

ReadingPool::~ReadingPool() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  asked_.notify_all();
}

bool ReadingPool::read(const std::shared_ptr<FileTask>& task) {
  const auto reading = std::make_shared<Reading>();
  reading->task = task;
  std::unique_lock lock(mutex_);
  waiting_.push_back(reading);
  asked_.notify_one();
  if (done_.wait_for(lock, kPatience, [&] { return reading->done; })) return true;
  done_.wait(lock, [&] { return reading->done || late_readings_ < kMostLate; });
  if (reading->done) return true;
  reading->late = true;
  ++late_readings_;
  return false;
}

std::shared_ptr<FileTask> ReadingPool::take_late() {
  const std::lock_guard lock(mutex_);
  return pop_late();
}

std::shared_ptr<FileTask> ReadingPool::wait_late() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return !late_.empty() || late_readings_ == 0; });
  return pop_late();
}

std::shared_ptr<FileTask> ReadingPool::pop_late() {
  if (late_.empty()) return nullptr;
  std::shared_ptr<FileTask> task = std::move(late_.front());
  late_.pop_front();
  return task;
}

void ReadingPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    asked_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::shared_ptr<Reading> reading = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    read_(*reading->task);
    lock.lock();
    reading->done = true;
    if (reading->late) {
      late_.push_back(std::move(reading->task));
      --late_readings_;
    }
    done_.notify_all();
  }
}

}  // namespace edge_infer
