#include "models/token_limit.h"

#include <algorithm>

#include "models/sentence_graph.h"

namespace edge_infer {

Result<int64_t> token_limit(const ModelDirectory& directory, int64_t asked, int64_t special_tokens) {
  const int64_t positions =
      directory.positions() > 0 ? std::min(directory.positions(), kMaxBatchTokens) : kMaxBatchTokens;
  if (asked > positions)
    return fail(ErrorCode::kInvalidArgument, "max length {} is beyond the model's {} positions", asked,
                positions);
  const int64_t own = directory.max_seq_length();
  const int64_t limit = asked > 0 ? asked : own > 0 ? std::min(own, positions) : positions;
  if (limit < special_tokens)
    return fail(ErrorCode::kInvalidArgument, "max length {} leaves no room for the {} special tokens", limit,
                special_tokens);
  return limit;
}

}  // namespace edge_infer
