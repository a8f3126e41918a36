#include "backends/cpu/templates/attention_schedule.h"

namespace edge_infer {

int64_t attention_scratch_bytes(int64_t dim) {
  // attention.c's struct attention_state: six lines of state, 64 keys, queries and results, each for the
  // queries of a strip, 32 at most; then the values of 64 keys.
  constexpr int64_t kStripBytes = 32 * 4, kKeys = 64;
  return (6 + kKeys + 2 * dim) * kStripBytes + (kKeys * dim * 4 + 63) / 64 * 64;
}

}  // namespace edge_infer
