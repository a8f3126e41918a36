// A group of files whose passages are embedded together, so that short documents share forward passes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "apps/index/file_task.h"
#include "models/embedder.h"

namespace edge_infer {

struct Batch {
  std::vector<std::unique_ptr<FileTask>> tasks;
};

// True when every passage of the task has its vector.
bool is_embedded(const FileTask& task);

// Called after each part with the passages that got a vector and the tokens that went through the model.
using EmbedProgress = std::function<void(FileTask& task, int64_t passages, int64_t tokens)>;

// Gives a unit vector to every passage that has none. Equal passages are embedded once; parts of at most `part_tokens`
// tokens, of similar lengths, run in parallel in the caller's TBB arena. Stops between parts when `stopping` says so:
// then some passages stay without. Errors: the embedder's; kInternal for a vector that has no direction.
Status embed_batch(Batch& batch, const Embedder& embedder, int64_t part_tokens, const std::function<bool()>& stopping,
                   const EmbedProgress& progress);

// Scales to length 1 where it is not already. False for zero, infinite or NaN vectors.
bool make_unit(std::span<float> vector);

}  // namespace edge_infer
