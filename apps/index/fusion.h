// How rankings become the list that a user sees: reciprocal rank fusion and the thinning of passages of one
// file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

// Sets score = sum over both rankings of 1 / (60 + rank) (Cormack, Clarke, Büttcher 2009) and sorts.
// Each ranking is best first; a passage may be in one or both.
std::vector<Candidate> fuse_rankings(std::span<const Candidate> by_vector,
                                     std::span<const Candidate> by_text);

// The first `count` of sorted candidates, with at most `per_file` of one file; what was held back follows, in
// order, when there are not enough others.
std::vector<Candidate> thin_out(std::span<const Candidate> sorted, size_t count, size_t per_file);

}  // namespace edge_infer
