// PackBudget: how many tokens one forward pass may have: what is efficient on the device, or less for a while
// after its memory did not suffice for that. Thread-safe. Results never depend on it.
#pragma once

#include <cstdint>
#include <mutex>

namespace edge_infer {

class PackBudget {
 public:
  // Passes that run before a larger size is tried again; after each attempt in vain twice as many.
  static constexpr int64_t kFirstPatience = 64, kMostPatience = int64_t{1} << 16;

  explicit PackBudget(int64_t tokens) : full_(tokens), tokens_(tokens) {}

  int64_t tokens() const;
  // A pass of so many tokens did not fit: passes are to have at most half as many.
  void refuse(int64_t tokens);
  // A pass ran.
  void accept();

 private:
  const int64_t full_;
  mutable std::mutex mutex_;
  int64_t tokens_;
  int64_t accepted_ = 0;  // since the size last changed
  int64_t patience_ = kFirstPatience;
  bool raised_ = false;  // the present size is an attempt
};

}  // namespace edge_infer
