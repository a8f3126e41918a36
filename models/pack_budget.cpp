#include "models/pack_budget.h"

#include <algorithm>

namespace edge_infer {

int64_t PackBudget::tokens() const {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

void PackBudget::refuse(int64_t tokens) {
  const std::lock_guard lock(mutex_);
  const int64_t half = std::max<int64_t>(tokens / 2, 1);
  // Calls side by side may be refused at once: that is one refusal.
  if (half >= tokens_) return;
  tokens_ = half;
  accepted_ = 0;
  if (raised_) patience_ = std::min(2 * patience_, kMostPatience);
  raised_ = false;
}

void PackBudget::accept() {
  const std::lock_guard lock(mutex_);
  if (tokens_ >= full_ || ++accepted_ < patience_) return;
  tokens_ = std::min(2 * tokens_, full_);
  accepted_ = 0;
  raised_ = true;
}

}  // namespace edge_infer
