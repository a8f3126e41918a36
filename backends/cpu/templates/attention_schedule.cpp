#include "backends/cpu/templates/attention_schedule.h"

namespace edge_infer {

int64_t attention_scratch_bytes(int64_t dim) {
  // attention.c's struct attention_state: four registers' worth of rows, 64 keys, queries and results, each
  // for the queries of a strip, 32 at most.
  constexpr int64_t kStripBytes = 32 * 4;
  return (4 + 64 + 2 * dim) * kStripBytes;
}

}  // namespace edge_infer
