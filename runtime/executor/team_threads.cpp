#include "runtime/executor/team_threads.h"

#include <pthread.h>
#include <signal.h>

#include <memory>
#include <system_error>
#include <thread>

namespace edge_infer {
namespace {

// kPosted and kAsleep are followed by a thread's own step; kPosted is also undone by the call that posted.
enum State : int32_t { kAwake, kAsleep, kPosted, kRunning };

// Wakes cost the waker some microseconds each.
constexpr int kWakesOfCaller = 4, kWakesOfWorker = 3;

// Signals are for threads of the host.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

// A thread. Outside of `state` all is its owner's: the pool's while it is free, then the call's that took it.
struct alignas(64) TeamThreads::Slot {
  std::atomic<int32_t> state{kAwake};
  Job* job = nullptr;
  int worker = 0;
  Slot* next = nullptr;    // free ones, or those of one call
  Slot* asleep = nullptr;  // the next that is to be woken
};

struct TeamThreads::Job {
  Body body;
  void* context;
  std::atomic<Slot*> asleep{nullptr};  // threads that nobody has woken yet
};

TeamThreads& TeamThreads::instance() {
  static TeamThreads* const pool = new TeamThreads;
  return *pool;
}

void TeamThreads::run(int workers, Body body, void* context, Late late) {
  Slot* const chain = take(workers - 1, late);
  Job job{body, context};
  Slot* asleep = nullptr;
  Slot** end = &asleep;
  int worker = 0;
  for (Slot* slot = chain; slot != nullptr; slot = slot->next) {
    slot->job = &job;
    slot->worker = ++worker;
    if (slot->state.exchange(kPosted, std::memory_order_acq_rel) != kAsleep) continue;
    *end = slot;
    end = &slot->asleep;
    slot->asleep = nullptr;
  }
  job.asleep.store(asleep, std::memory_order_release);
  wake(job, kWakesOfCaller);
  body(context, 0);
  collect(job, chain, late);
  give_back(chain);
}

void TeamThreads::wake(Job& job, int count) {
  Slot* slot = job.asleep.load(std::memory_order_acquire);
  while (count > 0 && slot != nullptr) {
    if (!job.asleep.compare_exchange_weak(slot, slot->asleep, std::memory_order_acq_rel)) continue;
    // All: the call may wait for the same thread's end by now.
    slot->state.notify_all();
    slot = job.asleep.load(std::memory_order_acquire);
    --count;
  }
}

void TeamThreads::collect(Job& job, Slot* chain, Late late) {
  if (late == Late::kLeftOut) {
    // Nobody will wake these any more.
    Slot* next = nullptr;
    for (Slot* slot = job.asleep.exchange(nullptr, std::memory_order_acq_rel); slot != nullptr; slot = next) {
      next = slot->asleep;
      int32_t posted = kPosted;
      slot->state.compare_exchange_strong(posted, kAsleep, std::memory_order_acq_rel);
    }
  } else {
    wake(job, INT32_MAX);
  }
  for (Slot* slot = chain; slot != nullptr; slot = slot->next) {
    int32_t state = kPosted;
    if (late == Late::kLeftOut) slot->state.compare_exchange_strong(state, kAwake, std::memory_order_acq_rel);
    for (int i = 0; i < kSpins; ++i) {
      state = slot->state.load(std::memory_order_acquire);
      if (state != kPosted && state != kRunning) break;
      pause_cpu();
    }
    while (state == kPosted || state == kRunning) {
      slot->state.wait(state, std::memory_order_acquire);
      state = slot->state.load(std::memory_order_acquire);
    }
  }
}

void TeamThreads::serve(Slot& slot) {
  for (;;) {
    for (int i = 0; i < kSpins && slot.state.load(std::memory_order_relaxed) != kPosted; ++i) pause_cpu();
    int32_t state = kAwake;
    if (slot.state.compare_exchange_strong(state, kAsleep, std::memory_order_acq_rel) || state == kAsleep)
      slot.state.wait(kAsleep, std::memory_order_acquire);
    state = kPosted;
    if (!slot.state.compare_exchange_strong(state, kRunning, std::memory_order_acq_rel)) continue;
    Job& job = *slot.job;
    wake(job, kWakesOfWorker);
    job.body(job.context, slot.worker);
    slot.state.store(kAwake, std::memory_order_release);
    slot.state.notify_all();
  }
}

TeamThreads::Slot* TeamThreads::take(int count, Late late) {
  Slot* chain = nullptr;
  Slot** end = &chain;
  {
    const std::lock_guard lock(mutex_);
    for (; count > 0 && free_ != nullptr; --count) {
      *end = free_;
      end = &free_->next;
      free_ = free_->next;
    }
    *end = nullptr;
  }
  try {
    for (; count > 0; --count) {
      const SignalsBlocked blocked;
      auto slot = std::make_unique<Slot>();
      std::thread([s = slot.get()] { serve(*s); }).detach();
      *end = slot.release();
      end = &(*end)->next;
    }
  } catch (const std::system_error&) {
    if (late == Late::kAwaited) {
      give_back(chain);
      throw;
    }
  }
  return chain;
}

void TeamThreads::give_back(Slot* chain) {
  if (chain == nullptr) return;
  Slot* last = chain;
  while (last->next != nullptr) last = last->next;
  const std::lock_guard lock(mutex_);
  last->next = free_;
  free_ = chain;
}

}  // namespace edge_infer
