// TeamThreads: the process' worker threads, kept from call to call and shared by all callers. A thread that
// has nothing to do spins for some tens of microseconds, then sleeps: calls that follow each other find it
// awake, and an idle process uses no processor time. Sleepers are woken in a tree, as one thread would take
// long to wake many.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace edge_infer {

// A processor that waits in a loop says so.
inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
inline constexpr int kSpins = 2000;  // 30 to 100 us, by what a pause takes

class TeamThreads {
 public:
  using Body = void (*)(void* context, int worker);
  enum class Late {
    kAwaited,  // every worker runs
    kLeftOut,  // one that has not begun when body(0) returns never does
  };

  // Never destroyed: its threads outlive every object with static storage.
  static TeamThreads& instance();

  // body(0) on the calling thread, body(1..workers-1) on threads of the pool, each once; returns when all
  // that began have returned. Calls may be nested, and made by any number of threads. Allocates only where
  // more threads work at once than ever before. kLeftOut takes fewer workers where the system gives no more
  // threads; kAwaited throws std::system_error then, before anything has begun.
  void run(int workers, Body body, void* context, Late late);

 private:
  struct Job;
  struct Slot;

  // Up to `count` free threads, as a chain; makes those that are missing.
  Slot* take(int count, Late late);
  void give_back(Slot* chain);
  static void serve(Slot& slot);
  static void wake(Job& job, int count);
  static void collect(Job& job, Slot* chain, Late late);

  std::mutex mutex_;
  Slot* free_ = nullptr;  // the last ones used first: they may be awake still
};

}  // namespace edge_infer
