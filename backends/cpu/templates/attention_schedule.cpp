#include "backends/cpu/templates/attention_schedule.h"

#include <algorithm>

namespace edge_infer {

int64_t attention_scratch_bytes(int64_t dim) {
  // attention.c's struct attention_state, at most: ten lines of state, the scores of 72 keys, queries,
  // results and rows of them, each for the queries of a strip, 32 at most; then keys and values that stay
  // packed.
  constexpr int64_t kStripBytes = 32 * 4, kKeys = 72, kResidentFloats = 32768, kLanes = 16, kHeight = 8;
  constexpr int64_t kKeyPitch = 80;
  const int64_t blocks = std::max<int64_t>(kResidentFloats / dim / kKeys, 1);
  return (12 + kKeys + 3 * (dim + kLanes) + kHeight) * kStripBytes +
         (blocks * (kKeyPitch * dim + kKeys * (dim + kHeight)) * 4 + 63) / 64 * 64;
}

}  // namespace edge_infer
