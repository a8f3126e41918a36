// The pool's promises: every worker once, nested and concurrent teams, nobody begins after a helped call has
// returned, no wake-up is lost after one, and the hosts' signals stay with the host.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <set>
#include <thread>
#include <vector>

#include "runtime/executor/team.h"

namespace edge_infer {
namespace {

// Long enough for idle workers to fall asleep, in every third round.
void rest(int round) {
  if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(round % 7 * 100));
}

TEST(TeamThreads, every_worker_runs_once_on_a_thread_of_its_own) {
  for (int round = 0; round < 200; ++round) {
    rest(round);
    const int workers = 1 + round % 9;
    std::vector<std::thread::id> threads(static_cast<size_t>(workers));
    std::atomic<int> begun{0};
    auto body = [&](int worker) {
      threads[static_cast<size_t>(worker)] = std::this_thread::get_id();
      // All at once: each waits for the others.
      for (++begun; begun.load() < workers;) std::this_thread::yield();
    };
    run_team(workers, body);
    EXPECT_EQ(begun, workers);
    EXPECT_EQ(threads[0], std::this_thread::get_id());
    EXPECT_EQ(std::set(threads.begin(), threads.end()).size(), static_cast<size_t>(workers));
  }
}

TEST(TeamThreads, nobody_begins_after_a_helped_call_has_returned) {
  for (int round = 0; round < 2000; ++round) {
    rest(round);
    // Dies at the end of the round: a late worker would touch it.
    struct Call {
      std::atomic<int> runs[8] = {};
      std::atomic<bool> over{false};
      std::atomic<int> late{0};
    } call;
    auto body = [&call](int worker) {
      ++call.runs[worker];
      if (call.over.load()) ++call.late;
    };
    run_helped(8, body);
    call.over = true;
    EXPECT_EQ(call.runs[0], 1);
    for (const auto& runs : call.runs) EXPECT_LE(runs, 1);
    EXPECT_EQ(call.late, 0);
  }
}

TEST(TeamThreads, no_wake_up_is_lost_after_workers_were_left_out) {
  for (int round = 0; round < 1000; ++round) {
    auto nothing = [](int) {};
    run_helped(1 + round % 12, nothing);
    rest(round);
    std::atomic<int> begun{0};
    auto body = [&](int) {
      for (++begun; begun.load() < 8;) std::this_thread::yield();
    };
    run_team(8, body);  // hangs where one of the eight does not come
    EXPECT_EQ(begun, 8);
  }
}

TEST(TeamThreads, helpers_share_the_work_of_a_call) {
  std::atomic<int> most{0};
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> next{0}, done{0}, helpers{0};
    auto body = [&](int) {
      ++helpers;
      for (int i = next.fetch_add(1); i < 64; i = next.fetch_add(1)) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        ++done;
      }
      while (done.load() < 64) std::this_thread::yield();
    };
    run_helped(4, body);
    EXPECT_EQ(done, 64);
    most = std::max(most.load(), helpers.load());
  }
  EXPECT_EQ(most, 4);
}

TEST(TeamThreads, teams_within_teams_of_several_callers) {
  std::atomic<int64_t> sum{0};
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&sum] {
      for (int round = 0; round < 50; ++round) {
        rest(round);
        auto outer = [&](int) {
          auto inner = [&](int worker) { sum += worker + 1; };
          run_team(3, inner);
        };
        run_team(2, outer);
      }
    });
  callers.clear();
  EXPECT_EQ(sum, 4 * 50 * 2 * (1 + 2 + 3));
}

TEST(TeamThreads, signals_are_left_to_the_host) {
  std::atomic<int> blocked{0};
  auto body = [&](int worker) {
    if (worker == 0) return;
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    if (::sigismember(&mask, SIGTERM) == 1 && ::sigismember(&mask, SIGINT) == 1) ++blocked;
  };
  run_team(4, body);
  EXPECT_EQ(blocked, 3);
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(::sigismember(&mask, SIGTERM), 0);
}

TEST(TeamThreads, idle_workers_use_no_processor_time) {
  auto nothing = [](int) {};
  run_team(8, nothing);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.1);
}

}  // namespace
}  // namespace edge_infer
