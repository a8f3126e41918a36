// Which of several measured candidates to take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace edge_infer {

// Times of one candidate, one a round, in nanoseconds; empty: it failed.
using CandidateTimes = std::vector<int64_t>;

// The fastest by its best time, unless that is within `margin` of the first (the generator's own choice),
// which then stays: so noise does not change the choice from one run to the next. Of equals the first.
// nullopt where all failed.
std::optional<size_t> choose_candidate(std::span<const CandidateTimes> candidates, double margin = 0.03);

}  // namespace edge_infer
