// When pull asks a hub again, and when it gives up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/pull/http_fetch.h"
#include "apps/pull/pull_model.h"

namespace edge_infer {

// A status with which a server says "not now": 408, 429, 500, 502, 503, 504.
bool is_passing_status(int status);
// "status 429", with the wait that the answer asks for.
std::string describe_passing(const FetchHead& head);

// The attempts at one answer. Not shared between threads.
class Retries {
 public:
  Retries(const PullOptions& options, PullProgress& progress) : options_(options), progress_(progress) {}
  // Waits as long as the server asks for, else a time that doubles with each call, and tells `progress` why.
  // False, at once, when the attempts are used up or the server asks for more than options.longest_wait_ms.
  bool wait(const std::string& why, std::optional<int64_t> retry_after_s);

 private:
  const PullOptions& options_;
  PullProgress& progress_;
  int used_ = 0;
};

}  // namespace edge_infer
