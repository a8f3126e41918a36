#include "apps/index/fusion.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "apps/index/word_runs.h"

namespace edge_infer {
namespace {

// Deeper passages are not compared with those above them: that costs the square.
constexpr size_t kCompared = 200;

bool is_earlier(const Candidate& a, const Candidate& b) {
  return a.path != b.path ? a.path < b.path : a.ordinal < b.ordinal;
}

int64_t better_rank(const Candidate& c) {
  if (c.vector_rank == 0 || c.text_rank == 0) return std::max(c.vector_rank, c.text_rank);
  return std::min(c.vector_rank, c.text_rank);
}

// Scores of one ranking as parts from 0 to 1.
class Scale {
 public:
  Scale(std::span<const Candidate> ranked, double floor_of_short) {
    if (ranked.empty()) return;
    floor_ = ranked.size() < kFusionDepth ? floor_of_short : ranked[kFusionDepth - 1].score;
    range_ = ranked[0].score - floor_;
  }
  double part(double score) const { return range_ > 0 ? std::max(0.0, (score - floor_) / range_) : 1; }

 private:
  double floor_ = 0, range_ = 0;
};

}  // namespace

void sort_candidates(std::vector<Candidate>& candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : is_earlier(a, b);
  });
}

std::vector<Candidate> fuse_rankings(std::span<const Candidate> by_vector,
                                     std::span<const Candidate> by_text) {
  std::vector<Candidate> fused;
  std::unordered_map<int64_t, size_t> places;
  const auto add = [&](const Candidate& candidate, double part) -> Candidate& {
    const auto [place, fresh] = places.try_emplace(candidate.chunk_id, fused.size());
    if (fresh) {
      fused.push_back(candidate);
      fused.back().score = 0;
      fused.back().vector_rank = fused.back().text_rank = 0;
    }
    fused[place->second].score += part;
    return fused[place->second];
  };
  const Scale vector_scale(by_vector, by_vector.empty() ? 0 : by_vector.back().score);
  int64_t rank = 0;
  for (const Candidate& candidate : by_vector)
    add(candidate, vector_scale.part(candidate.score) / 2).vector_rank = ++rank;
  const Scale text_scale(by_text, 0);
  rank = 0;
  for (const Candidate& candidate : by_text)
    add(candidate, text_scale.part(candidate.score) / 2).text_rank = ++rank;
  std::sort(fused.begin(), fused.end(), [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    if (better_rank(a) != better_rank(b)) return better_rank(a) < better_rank(b);
    return is_earlier(a, b);
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
