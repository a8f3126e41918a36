#include "tests/gpu/check.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace edge_infer::test {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

void GpuReport::section(const std::string& name, const std::vector<GpuCase>& cases) {
  const auto begin = Clock::now();
  std::vector<Outcome> outcomes(cases.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < cases.size(); i = next++) outcomes[i] = cases[i].run();
  };
  {
    std::vector<std::jthread> workers;
    const size_t count = std::min<size_t>(cases.size(), std::max(1U, std::thread::hardware_concurrency()));
    for (size_t w = 0; w < count; ++w) workers.emplace_back(work);
  }
  int passed = 0, failed = 0, skipped = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    const std::string note = outcome.note.empty() ? "" : " [" + outcome.note + "]";
    if (!outcome.failure.empty()) {
      ++failed;
      say(fmt::format("FAIL {}: {}{}: {}", name, cases[i].label, note, outcome.failure));
    } else {
      ++(outcome.skipped ? skipped : passed);
      if (!quiet_)
        say(fmt::format("{} {}: {}{}", outcome.skipped ? "skip" : "ok  ", name, cases[i].label, note));
    }
  }
  say(fmt::format("== {}: {} passed, {} failed, {} skipped in {:.1f} s", name, passed, failed, skipped,
                  seconds_since(begin)));
  passed_ += passed;
  failed_ += failed;
  skipped_ += skipped;
}

void GpuReport::broken(const std::string& name, const std::string& why) {
  ++failed_;
  say(fmt::format("FAIL {}: {}", name, why));
}

bool GpuReport::finish() const {
  say(fmt::format("gpu_check: {} passed, {} failed, {} skipped", passed_, failed_, skipped_));
  return failed_ == 0 && passed_ > 0;
}

}  // namespace edge_infer::test
