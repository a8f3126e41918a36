// The unit of embedding: passages of about one call's tokens, of one file or of many, so that short files
// share a forward pass and long ones spread over all workers.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "apps/index/file_task.h"
#include "models/embedder.h"

namespace edge_infer {

struct PassageOfTask {
  std::shared_ptr<FileTask> task;
  size_t passage = 0;
};

struct Part {
  std::vector<PassageOfTask> passages;              // to embed
  std::vector<std::shared_ptr<FileTask>> finished;  // files that need nothing after this part
};

// Cuts a stream of files into parts. Files leave in the order they came.
class PartPacker {
 public:
  explicit PartPacker(int64_t part_tokens) : part_tokens_(part_tokens) {}

  // Takes a file with FileTask::missing set.
  void add(std::shared_ptr<FileTask> task);
  // The next part: full ones only, unless `flush`. May be empty.
  Part take(bool flush);
  // Full parts that take() would give one after the other.
  int64_t backlog() const { return waiting_tokens_ / part_tokens_; }
  bool empty() const { return waiting_.empty(); }
  void clear();

 private:
  struct Waiting {
    std::shared_ptr<FileTask> task;
    size_t next = 0;  // first of task->missing not yet handed out
  };
  int64_t part_tokens_;
  std::deque<Waiting> waiting_;
  int64_t waiting_tokens_ = 0;
};

// Notes in task.missing the passages without a vector, one for each content, and returns their tokens.
int64_t find_missing(FileTask& task);

// Gives equal passages of a file the vector that the first of them has. True when every passage has one now.
bool complete(FileTask& task);

// Gives each passage of the part a unit vector. Errors: the embedder's; kInternal for a vector that has no
// direction.
Status embed_part(Part& part, const Embedder& embedder);

// Scales to length 1 where it is not already. False for zero, infinite or NaN vectors.
bool make_unit(std::span<float> vector);

}  // namespace edge_infer
