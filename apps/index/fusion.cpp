#include "apps/index/fusion.h"

#include <algorithm>
#include <unordered_map>

namespace edge_infer {
namespace {

constexpr double kRankConstant = 60;

}  // namespace

void sort_candidates(std::vector<Candidate>& candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.path != b.path) return a.path < b.path;
    return a.ordinal < b.ordinal;
  });
}

std::vector<Candidate> fuse_rankings(std::span<const Candidate> by_vector,
                                     std::span<const Candidate> by_text) {
  std::vector<Candidate> fused;
  std::unordered_map<int64_t, size_t> places;
  const auto add = [&](const Candidate& candidate, int64_t rank) -> Candidate& {
    const auto [place, fresh] = places.try_emplace(candidate.chunk_id, fused.size());
    if (fresh) {
      fused.push_back(candidate);
      fused.back().score = 0;
      fused.back().vector_rank = fused.back().text_rank = 0;
    }
    fused[place->second].score += 1.0 / (kRankConstant + static_cast<double>(rank));
    return fused[place->second];
  };
  int64_t rank = 0;
  for (const Candidate& candidate : by_vector) {
    ++rank;
    add(candidate, rank).vector_rank = rank;
  }
  rank = 0;
  for (const Candidate& candidate : by_text) {
    ++rank;
    add(candidate, rank).text_rank = rank;
  }
  sort_candidates(fused);
  return fused;
}

std::vector<Candidate> thin_out(std::span<const Candidate> sorted, size_t count, size_t per_file) {
  std::vector<Candidate> kept;
  std::vector<const Candidate*> held_back;
  std::unordered_map<std::string_view, size_t> taken;
  for (const Candidate& candidate : sorted) {
    if (kept.size() == count) return kept;
    if (taken[candidate.path]++ < per_file)
      kept.push_back(candidate);
    else
      held_back.push_back(&candidate);
  }
  for (const Candidate* candidate : held_back) {
    if (kept.size() == count) break;
    kept.push_back(*candidate);
  }
  return kept;
}

}  // namespace edge_infer
