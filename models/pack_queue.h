// PackQueue: cuts a list of texts into packs, runs of consecutive texts that one forward pass takes, while
// the texts are still being tokenized by other threads. Where packs are cut depends on the texts' lengths and
// the limits alone.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

struct Pack {
  size_t first = 0, count = 0;
  int64_t tokens = 0;
};

// What a pack may hold. A text that exceeds it is a pack of its own.
struct PackLimits {
  // Texts of which `tokens` is the only limit.
  static constexpr int64_t kPlainLength = 512;
  int64_t tokens = 0;
  // Work of one (query, key) pair of attention in units of a token's: a text of n tokens costs n + pair * n *
  // n, and a pack at most what it costs when its texts have kPlainLength tokens. 0: tokens count alone.
  double pair = 0;
};

// The longest run from `first` within the limits; of at least one text. `first` < `count`.
Pack cut_pack(size_t first, size_t count, const std::function<int64_t(size_t)>& length,
              const PackLimits& limits);

// Thread-safe.
class PackQueue {
 public:
  // Texts become ready in blocks of kBlock; `length(i)` is asked once text i is.
  static constexpr size_t kBlock = 16;

  PackQueue(size_t count, std::function<int64_t(size_t)> length);

  // A block of texts to tokenize, given to one caller each: its first text and its end; none are left: none.
  struct Range {
    size_t first = 0, end = 0;
  };
  std::optional<Range> next_block();
  void set_ready(const Range& block);

  // Waits until the next pack is known. None: all are given out, or the queue was stopped.
  std::optional<Pack> next_pack(const PackLimits& limits);

  // Ends both sides; the first failure is kept.
  void stop(Status status);
  Status status() const;

 private:
  size_t ready_end() const;  // texts before it are ready

  const size_t count_;
  const std::function<int64_t(size_t)> length_;
  std::mutex packing_;  // held by the one caller that waits for the next pack
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t next_block_ = 0;    // to be given out
  size_t ready_blocks_ = 0;  // all before it are ready
  std::vector<bool> ready_;
  size_t next_text_ = 0;  // first of the next pack; under packing_
  bool stopped_ = false;
  Status status_;
};

}  // namespace edge_infer
