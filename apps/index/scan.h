// The exact vector scan: dot products of one query with every stored vector.
#pragma once

#include <cstdint>
#include <memory>
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

// The `count` best live vectors, best first; equal scores in order of slot. `database` is inside of a read
// transaction. Each of `helpers`, further connections to the same file, is used by a thread of its own for a
// share of the blocks; one that sees another state of the index (a writer committed in between) stays idle.
// Memory: a block a thread, whatever the index holds. Errors: kCorruption for blocks of the wrong size.
Result<std::vector<ScoredSlot>> scan_vectors(const Database& database, std::span<const float> query,
                                             size_t count,
                                             std::span<const std::unique_ptr<Database>> helpers = {});

}  // namespace edge_infer
