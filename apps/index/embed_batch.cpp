#include "apps/index/embed_batch.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "apps/index/tsan.h"

namespace edge_infer {
namespace {

// Passages with one content: the first's tokens stand for all.
struct Group {
  std::span<const int32_t> ids;
  std::vector<std::pair<FileTask*, Passage*>> passages;
};

std::vector<Group> group_by_content(Batch& batch) {
  std::map<ContentHash, size_t> places;
  std::vector<Group> groups;
  for (const auto& task : batch.tasks) {
    for (size_t i = 0; i < task->passages.size(); ++i) {
      Passage& passage = task->passages[i];
      if (!passage.vector.empty()) continue;
      const auto [place, fresh] = places.try_emplace(passage.hash, groups.size());
      if (fresh) groups.push_back({task->ids[i], {}});
      groups[place->second].passages.emplace_back(task.get(), &passage);
    }
  }
  // Longest first: the parts that take long start early. Stable, so that equal runs make equal parts.
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.ids.size() > b.ids.size(); });
  return groups;
}

std::vector<std::span<const Group>> cut_into_parts(const std::vector<Group>& groups, int64_t part_tokens) {
  std::vector<std::span<const Group>> parts;
  size_t begin = 0;
  int64_t tokens = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto length = static_cast<int64_t>(groups[i].ids.size());
    if (i > begin && tokens + length > part_tokens) {
      parts.push_back(std::span(groups).subspan(begin, i - begin));
      begin = i;
      tokens = 0;
    }
    tokens += length;
  }
  if (begin < groups.size()) parts.push_back(std::span(groups).subspan(begin));
  return parts;
}

Status embed_part(std::span<const Group> part, const Embedder& embedder, const EmbedProgress& progress) {
  const auto width = static_cast<size_t>(embedder.dimensions());
  std::vector<std::span<const int32_t>> texts;
  for (const Group& group : part) texts.push_back(group.ids);
  std::vector<float> vectors(part.size() * width);
  EDGE_INFER_RETURN_IF_ERROR(embedder.embed_tokens(texts, vectors));
  for (size_t i = 0; i < part.size(); ++i) {
    const auto vector = std::span(vectors).subspan(i * width, width);
    if (!make_unit(vector))
      return fail(ErrorCode::kInternal, "the model's vector of a passage of \"{}\" is zero or not finite",
                  part[i].passages[0].first->found.path);
    int64_t tokens = static_cast<int64_t>(part[i].ids.size());
    for (const auto& [task, passage] : part[i].passages) {
      passage->vector.assign(vector.begin(), vector.end());
      progress(*task, 1, std::exchange(tokens, 0));
    }
  }
  return {};
}

}  // namespace

bool is_embedded(const FileTask& task) {
  return std::none_of(task.passages.begin(), task.passages.end(), [](const Passage& p) { return p.vector.empty(); });
}

Status embed_batch(Batch& batch, const Embedder& embedder, int64_t part_tokens, const std::function<bool()>& stopping,
                   const EmbedProgress& progress) {
  const std::vector<Group> groups = group_by_content(batch);
  const std::vector<std::span<const Group>> parts = cut_into_parts(groups, part_tokens);
  std::mutex mutex;
  Status first_error;
  std::atomic<bool> failed{false};
  tsan_release(&failed);
  // Isolated: a thread that waits here must not begin another file of the pipeline.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(size_t{0}, parts.size(), [&](size_t i) {
      tsan_acquire(&failed);
      if (!failed && !stopping()) {
        if (Status status = embed_part(parts[i], embedder, progress); !status) {
          const std::lock_guard lock(mutex);
          if (!failed.exchange(true)) first_error = std::move(status);
        }
      }
      tsan_release(&failed);
    });
  });
  tsan_acquire(&failed);
  return first_error;
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
