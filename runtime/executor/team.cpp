#include "runtime/executor/team.h"

#include <pthread.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "runtime/base/cpu.h"
#include "runtime/executor/team_threads.h"

namespace edge_infer {
namespace {

std::atomic<int>& free_workers() {
  static std::atomic<int> free{worker_budget()};
  return free;
}

// Set in a child that was forked from a process of ours: the pool's threads do not exist there.
std::atomic<bool> forked{false};
[[maybe_unused]] const int fork_hook = ::pthread_atfork(nullptr, nullptr, [] { forked.store(true); });

void run_threads(int workers, void (*body)(void*, int), void* context) {
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<size_t>(workers) - 1);
  for (int w = 1; w < workers; ++w) threads.emplace_back([=] { body(context, w); });
  body(context, 0);
}

void run(int workers, void (*body)(void*, int), void* context, TeamThreads::Late late) {
  if (workers <= 1)
    body(context, 0);
  else if (forked.load(std::memory_order_relaxed))
    run_threads(workers, body, context);
  else
    TeamThreads::instance().run(workers, body, context, late);
}

}  // namespace

WorkerShare::WorkerShare(int wanted) : workers_(1) {
  std::atomic<int>& free = free_workers();
  int available = free.load(std::memory_order_relaxed);
  while (true) {
    workers_ = std::max(1, std::min(wanted, available));
    if (free.compare_exchange_weak(available, available - workers_, std::memory_order_relaxed)) return;
  }
}

WorkerShare::~WorkerShare() {
  free_workers().fetch_add(workers_, std::memory_order_relaxed);
}

void wait_until(const std::atomic<int64_t>& counter, int64_t value) {
  for (int i = 0; i < kSpins; ++i) {
    if (counter.load(std::memory_order_acquire) >= value) return;
    pause_cpu();
  }
  for (int64_t seen = counter.load(std::memory_order_acquire); seen < value;
       seen = counter.load(std::memory_order_acquire))
    counter.wait(seen, std::memory_order_acquire);
}

void run_team(int workers, void (*body)(void*, int), void* context) {
  run(workers, body, context, TeamThreads::Late::kAwaited);
}

void run_helped(int workers, void (*body)(void*, int), void* context) {
  run(workers, body, context, TeamThreads::Late::kLeftOut);
}

}  // namespace edge_infer
