#include "models/pack_queue.h"

#include <algorithm>
#include <utility>

namespace edge_infer {
namespace {

// Sums of many texts may round up.
constexpr double kRounding = 1 + 1e-9;

// A pack as it grows text by text.
class GrowingPack {
 public:
  GrowingPack(size_t first, const PackLimits& limits)
      : pack_{first, 0, 0},
        limits_(limits),
        most_(kRounding * static_cast<double>(limits.tokens) *
              (1 + limits.pair * static_cast<double>(PackLimits::kPlainLength))) {}
  bool add(int64_t length) {
    const auto n = static_cast<double>(length);
    const double cost = cost_ + n + limits_.pair * n * n;
    if (pack_.count > 0 && (pack_.tokens + length > limits_.tokens || (limits_.pair > 0 && cost > most_)))
      return false;
    ++pack_.count;
    pack_.tokens += length;
    cost_ = cost;
    return true;
  }
  const Pack& pack() const { return pack_; }

 private:
  Pack pack_;
  PackLimits limits_;
  double most_, cost_ = 0;
};

}  // namespace

Pack cut_pack(size_t first, size_t count, const std::function<int64_t(size_t)>& length,
              const PackLimits& limits) {
  GrowingPack growing(first, limits);
  for (size_t i = first; i < count; ++i)
    if (!growing.add(length(i))) break;
  return growing.pack();
}

PackQueue::PackQueue(size_t count, std::function<int64_t(size_t)> length)
    : count_(count), length_(std::move(length)), ready_((count + kBlock - 1) / kBlock) {}

std::optional<PackQueue::Range> PackQueue::next_block() {
  const std::lock_guard lock(mutex_);
  const size_t first = next_block_ * kBlock;
  if (stopped_ || first >= count_) return std::nullopt;
  ++next_block_;
  return Range{first, std::min(first + kBlock, count_)};
}

void PackQueue::set_ready(const Range& block) {
  {
    const std::lock_guard lock(mutex_);
    ready_[block.first / kBlock] = true;
    while (ready_blocks_ < ready_.size() && ready_[ready_blocks_]) ++ready_blocks_;
  }
  changed_.notify_all();
}

size_t PackQueue::ready_end() const {
  return std::min(ready_blocks_ * kBlock, count_);
}

std::optional<Pack> PackQueue::next_pack(const PackLimits& limits) {
  const std::lock_guard packing(packing_);
  GrowingPack growing(next_text_, limits);
  for (size_t i = next_text_; i < count_; ++i) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || i < ready_end(); });
      if (stopped_) return std::nullopt;
    }
    if (!growing.add(length_(i))) break;
  }
  const Pack pack = growing.pack();
  next_text_ += pack.count;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return std::nullopt;
  }
  return pack.count > 0 ? std::optional(pack) : std::nullopt;
}

void PackQueue::stop(Status status) {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (status_) status_ = std::move(status);
  }
  changed_.notify_all();
}

Status PackQueue::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace edge_infer
