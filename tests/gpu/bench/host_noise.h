// What keeps a thread from running that only looks at the clock: no call on this machine is steadier than
// that.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace edge_infer {

struct HostNoise {
  double per_second = 0;             // interruptions
  double median_us = 0, p99_us = 0;  // how long they are; 0 where there were none
};

// Counts what lies more than `least` between two looks at the clock, for as long as `duration`.
inline HostNoise measure_host_noise(std::chrono::nanoseconds duration, std::chrono::nanoseconds least) {
  using Clock = std::chrono::steady_clock;
  // Written to in advance: new memory would be an interruption.
  std::vector<double> gaps(static_cast<size_t>(duration / least) + 1);
  size_t count = 0;
  const auto begin = Clock::now();
  auto last = begin;
  while (last - begin < duration) {
    const auto now = Clock::now();
    if (now - last > least && count < gaps.size())
      gaps[count++] = std::chrono::duration<double, std::micro>(now - last).count();
    last = now;
  }
  gaps.resize(count);
  if (count == 0) return {};
  std::ranges::sort(gaps);
  return {static_cast<double>(count) / std::chrono::duration<double>(last - begin).count(), gaps[count / 2],
          gaps[count * 99 / 100]};
}

}  // namespace edge_infer
