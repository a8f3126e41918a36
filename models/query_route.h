// QueryRoute: whether a single short text is answered sooner by the accelerator or by the processor beside
// it: measured once, kept in the kernel cache, and used for queries alone. The two give vectors that differ
// in their last bits, so documents never take this route.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "models/pack_runner.h"
#include "runtime/cache/kernel_cache.h"

namespace edge_infer {

// Best times of one text of `tokens` tokens.
struct QueryTime {
  int64_t tokens = 0, device_ns = 0, host_ns = 0;
  friend bool operator==(const QueryTime&, const QueryTime&) = default;
};

// The largest number of tokens up to which the host is clearly faster at all measured lengths; 0: it is not.
// `times` in ascending order of tokens.
int64_t host_tokens(std::span<const QueryTime> times);

struct QueryRouteOptions {
  std::string identity;          // what decides the times besides the machine: graph, precisions, workers
  std::string target;            // of the accelerator
  std::string machine;           // both devices and their drivers, as Device::measured_on() says it
  KernelCache* cache = nullptr;  // outlives the route; null: nothing is kept
  // Opens the processor's side. Called at most once, when it is needed: to measure, or to answer.
  std::function<Result<std::unique_ptr<Module>>()> open_host;
  std::function<std::unique_ptr<PackRunner>(Module&)> make_runner;
  // That the accelerator itself answers calls of its module now.
  std::function<bool()> device_answers;
  // Nanoseconds of one call with a text of so many tokens.
  std::function<Result<int64_t>(const PackRunner&, int64_t tokens)> time_call;
};

// Thread-safe.
class QueryRoute {
 public:
  static constexpr int kRounds = 15;
  static constexpr int64_t kLengths[] = {16, 32, 64, 128};

  // Takes the decision from the cache where it is there; then the processor's side is opened here if it wins.
  QueryRoute(const PackRunner& device, QueryRouteOptions options);

  // Goes on with what is missing for a decision, outside of any call: opening the processor's side,
  // measuring. Waits at most about `limit` for a compilation; measuring takes some 100 ms. True: nothing is
  // left to do. Whatever fails while measuring leaves all queries to the accelerator, for this process.
  bool settle(std::chrono::milliseconds limit);

  // What answers a single text of so many tokens: the processor's side or null, the accelerator.
  const PackRunner* choose(int64_t tokens) const;

  // The measurement that decides; empty: none yet.
  std::vector<QueryTime> times() const;
  int64_t threshold() const { return threshold_.load(std::memory_order_acquire); }

 private:
  std::optional<std::vector<QueryTime>> stored() const;
  Result<std::vector<QueryTime>> measure() const;
  void store(std::span<const QueryTime> times) const;
  Status open_host();

  const PackRunner& device_;
  const QueryRouteOptions options_;
  mutable std::mutex mutex_;  // guards what follows, but for the threshold
  std::unique_ptr<Module> host_module_;
  std::unique_ptr<PackRunner> host_;
  std::vector<QueryTime> times_;
  bool settled_ = false;
  std::atomic<int64_t> threshold_{0};  // > 0: host_ is ready and stays
};

}  // namespace edge_infer
