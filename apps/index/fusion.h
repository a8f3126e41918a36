// How rankings become the list that a user sees: the mean of both scaled scores and the thinning of passages
// that say the same or come from one file.
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

// How deep scores are compared. Fixed, so that the first passages are the same however many are asked for.
constexpr size_t kFusionDepth = 200;

// Sets score = (vector part + text part) / 2, each from 0 to 1, and sorts. Each ranking is best first; a
// passage may be in one or both. A part is the score on a line from 1 for the best of its ranking to 0 for
// the one at kFusionDepth; a shorter text ranking holds every passage with a word of the query, so its line
// ends at a score of 0, a shorter vector ranking holds every passage, so its line ends at the last one. What
// is deeper or missing has 0. Equal scores follow in order of the better of both ranks.
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
