#include "apps/pull/retries.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

namespace edge_infer {

bool is_passing_status(int status) {
  constexpr std::array<int, 6> kPassing = {408, 429, 500, 502, 503, 504};
  return std::find(kPassing.begin(), kPassing.end(), status) != kPassing.end();
}

std::string describe_passing(const FetchHead& head) {
  std::string text = fmt::format("status {}", head.status);
  if (head.retry_after_s.value_or(0) > 0) text += fmt::format(", asks to wait {} s", *head.retry_after_s);
  return text;
}

bool Retries::wait(const std::string& why, std::optional<int64_t> retry_after_s) {
  if (used_ >= options_.retries) return false;
  if (retry_after_s && *retry_after_s > options_.longest_wait_ms / 1000) return false;
  const int64_t doubled = int64_t{options_.retry_delay_ms} << std::min(used_, 20);
  const int64_t wait_ms =
      std::max(retry_after_s.value_or(0) * 1000, std::min(doubled, options_.longest_wait_ms));
  ++used_;
  progress_.wait(why, wait_ms);
  std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
  return true;
}

}  // namespace edge_infer
