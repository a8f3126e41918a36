// Worker teams: with team_threads.h the only place where the runtime makes threads for calls. One worker
// budget a process: a call takes what is free, at least one, so that two callers get one worker each instead
// of fighting over all of them.
#pragma once

#include <atomic>
#include <cstdint>

namespace edge_infer {

// A share of the process' worker budget, returned on destruction. Never blocks.
class WorkerShare {
 public:
  // Takes up to `wanted` workers (>= 1) of those that are free, at least one.
  explicit WorkerShare(int wanted);
  ~WorkerShare();
  WorkerShare(const WorkerShare&) = delete;
  WorkerShare& operator=(const WorkerShare&) = delete;
  int workers() const { return workers_; }

 private:
  int workers_;
};

// Returns when `counter`, which only grows, has reached `value`; whoever brings it there calls notify_all().
// Spins briefly, then sleeps: a phase takes tens of microseconds, but a virtual CPU may be taken away for
// milliseconds.
void wait_until(const std::atomic<int64_t>& counter, int64_t value);

// Calls body(worker) once on each of `workers` workers, all at once, 0 on the calling thread; returns when
// all have returned. `body` must not throw. On the process' worker pool, which outlives the call; in a forked
// child, where its threads are gone, on new threads. Throws std::system_error where the system gives no more
// threads.
void run_team(int workers, void (*body)(void* context, int worker), void* context);

// The same for work that is done when body(0) returns, whoever did it: workers that have not begun by then
// (the system was busy with something else) are left out rather than waited for.
void run_helped(int workers, void (*body)(void* context, int worker), void* context);

template <typename F>
void run_team(int workers, F& f) {
  run_team(workers, [](void* context, int worker) { (*static_cast<F*>(context))(worker); }, &f);
}
template <typename F>
void run_helped(int workers, F& f) {
  run_helped(workers, [](void* context, int worker) { (*static_cast<F*>(context))(worker); }, &f);
}

}  // namespace edge_infer
