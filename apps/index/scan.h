// The exact vector scan: dot products of one query with every stored vector.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/index/sqlite.h"

namespace edge_infer {

struct ScoredSlot {
  int64_t slot = 0;
  float score = 0;
};

// scores[i] = query . rows[i]; rows is [scores.size(), query.size()], row-major, of any alignment.
void dot_rows(std::span<const float> query, const float* rows, std::span<float> scores);

// The `count` best live vectors, best first; equal scores in order of slot. Memory: one block, whatever the index
// holds. Errors: kCorruption for blocks of the wrong size.
Result<std::vector<ScoredSlot>> scan_vectors(const Database& database, std::span<const float> query, size_t count);

}  // namespace edge_infer
