#include "apps/index/fusion.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "apps/index/word_runs.h"

namespace edge_infer {
namespace {

// Cormack, Clarke and Büttcher (2009) take 60, for rankings of whole documents by many systems. With two
// rankings that makes a passage at place 60 of both better than one that leads either; see docs/index.md.
constexpr double kRankConstant = 3;
// Deeper passages are not compared with those above them: that costs the square.
constexpr size_t kCompared = 200;

int64_t better_rank(const Candidate& c) {
  if (c.vector_rank == 0 || c.text_rank == 0) return std::max(c.vector_rank, c.text_rank);
  return std::min(c.vector_rank, c.text_rank);
}

double part(int64_t rank) {
  return rank <= static_cast<int64_t>(kFusionDepth) ? 1 / (kRankConstant + static_cast<double>(rank)) : 0;
}

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
    fused[place->second].score += part(rank);
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
  std::sort(fused.begin(), fused.end(), [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    if (better_rank(a) != better_rank(b)) return better_rank(a) < better_rank(b);
    return a.vector_rank == better_rank(a) && b.vector_rank != better_rank(b);
  });
  return fused;
}

Result<std::vector<Candidate>> thin_out(std::span<const Candidate> sorted, size_t count, size_t per_file,
                                        const TextOf& text_of) {
  std::vector<Candidate> kept;
  std::vector<const Candidate*> held_back;
  std::unordered_map<std::string_view, size_t> taken;
  std::vector<WordRuns> said;  // by the first of `kept`
  for (size_t i = 0; i < sorted.size() && kept.size() < count; ++i) {
    const Candidate& candidate = sorted[i];
    bool fits = taken[candidate.path] < per_file;
    if (fits && i < kCompared) {
      EDGE_INFER_ASSIGN(const std::string text, text_of(candidate));
      WordRuns runs(text);
      for (size_t k = 0; k < said.size() && fits; ++k)
        fits = kept[k].path == candidate.path || !runs.is_like(said[k]);
      if (fits) said.push_back(std::move(runs));
    }
    if (fits) {
      kept.push_back(candidate);
      ++taken[candidate.path];
    } else {
      held_back.push_back(&candidate);
    }
  }
  for (size_t i = 0; i < held_back.size() && kept.size() < count; ++i) kept.push_back(*held_back[i]);
  return kept;
}

}  // namespace edge_infer
