#include "apps/index/part.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace edge_infer {

int64_t find_missing(FileTask& task) {
  task.missing.clear();
  int64_t tokens = 0;
  std::set<ContentHash> seen;
  for (size_t i = 0; i < task.passages.size(); ++i) {
    const Passage& passage = task.passages[i];
    if (!passage.vector.empty() || !seen.insert(passage.hash).second) continue;
    task.missing.push_back(i);
    tokens += passage.tokens;
  }
  return tokens;
}

bool complete(FileTask& task) {
  std::map<ContentHash, const Passage*> known;
  for (const Passage& passage : task.passages)
    if (!passage.vector.empty()) known.emplace(passage.hash, &passage);
  for (Passage& passage : task.passages) {
    if (!passage.vector.empty()) continue;
    const auto equal = known.find(passage.hash);
    if (equal == known.end()) return false;
    passage.vector = equal->second->vector;
  }
  return true;
}

void PartPacker::add(std::shared_ptr<FileTask> task) {
  for (const size_t i : task->missing) waiting_tokens_ += task->passages[i].tokens;
  waiting_.push_back({std::move(task), 0});
}

Part PartPacker::take(bool flush) {
  Part part;
  int64_t tokens = 0;
  const bool full = waiting_tokens_ >= part_tokens_;
  while (!waiting_.empty()) {
    Waiting& front = waiting_.front();
    const std::vector<size_t>& missing = front.task->missing;
    while (front.next < missing.size() && (full || flush)) {
      const int64_t length = front.task->passages[missing[front.next]].tokens;
      if (!part.passages.empty() && tokens + length > part_tokens_) return part;
      part.passages.push_back({front.task, missing[front.next++]});
      tokens += length;
      waiting_tokens_ -= length;
    }
    if (front.next < missing.size()) return part;
    part.finished.push_back(std::move(front.task));
    waiting_.pop_front();
  }
  return part;
}

void PartPacker::clear() {
  waiting_.clear();
  waiting_tokens_ = 0;
}

Status embed_part(Part& part, const Embedder& embedder) {
  if (part.passages.empty()) return {};
  const auto width = static_cast<size_t>(embedder.dimensions());
  std::vector<std::span<const int32_t>> texts;
  for (const PassageOfTask& p : part.passages) texts.push_back(p.task->ids[p.passage]);
  std::vector<float> vectors(texts.size() * width);
  EDGE_INFER_RETURN_IF_ERROR(embedder.embed_tokens(texts, vectors));
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto vector = std::span(vectors).subspan(i * width, width);
    const PassageOfTask& p = part.passages[i];
    if (!make_unit(vector))
      return fail(ErrorCode::kInternal, "the model's vector of a passage of \"{}\" is zero or not finite",
                  p.task->found.path);
    p.task->passages[p.passage].vector.assign(vector.begin(), vector.end());
  }
  return {};
}

bool make_unit(std::span<float> vector) {
  double squares = 0;
  for (const float x : vector) squares += double{x} * double{x};
  if (!(squares > 0) || !std::isfinite(squares)) return false;
  // A normalizing model's vectors keep their bits.
  if (std::abs(squares - 1) < 1e-5) return true;
  const double scale = 1 / std::sqrt(squares);
  for (float& x : vector) x = static_cast<float>(x * scale);
  return true;
}

}  // namespace edge_infer
