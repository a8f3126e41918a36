#include "compiler/tune/choose.h"

#include <algorithm>

namespace edge_infer {

std::optional<size_t> choose_candidate(std::span<const CandidateTimes> candidates, double margin) {
  std::optional<size_t> best;
  int64_t least = 0;
  for (size_t c = 0; c < candidates.size(); ++c) {
    if (candidates[c].empty()) continue;
    const int64_t time = std::ranges::min(candidates[c]);
    if (best && time >= least) continue;
    best = c;
    least = time;
  }
  if (!best || candidates[0].empty()) return best;
  const auto own = static_cast<double>(std::ranges::min(candidates[0]));
  return static_cast<double>(least) > own * (1 - margin) ? 0 : best;
}

}  // namespace edge_infer
