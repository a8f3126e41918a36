// How rankings become the list that a user sees: reciprocal rank fusion and the thinning of passages that say
// the same or come from one file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

// A passage in the running for the result.
struct Candidate {
  int64_t chunk_id = 0;
  std::string path;
  int64_t ordinal = 0;
  double score = 0;                        // higher is better
  int64_t vector_rank = 0, text_rank = 0;  // 0: not in that ranking
};

// Best first; equal scores by path, then ordinal, so that the order never depends on how the index was
// filled.
void sort_candidates(std::vector<Candidate>& candidates);

// How deep ranks count. Fixed, so that the first passages are the same however many are asked for.
constexpr size_t kFusionDepth = 200;

// Reciprocal rank fusion: sets score = sum over both rankings of 1 / (3 + rank), of the first kFusionDepth
// ranks, and sorts. Each ranking is best first; a passage may be in one or both. Equal scores follow in order
// of the better of both ranks, then that of the vector first.
std::vector<Candidate> fuse_rankings(std::span<const Candidate> by_vector,
                                     std::span<const Candidate> by_text);

// The text of a passage; errors end the thinning.
using TextOf = std::function<Result<std::string>(const Candidate&)>;

// The first `count` of sorted candidates, with at most `per_file` of one file and without those that say what
// an earlier one of another file says (WordRuns; looked at among the first 200 candidates). What was held
// back follows, in order, when there are not enough others. `text_of` is called once for each passage
// compared.
Result<std::vector<Candidate>> thin_out(std::span<const Candidate> sorted, size_t count, size_t per_file,
                                        const TextOf& text_of);

}  // namespace edge_infer
