#include "runtime/program/unit_list.h"

namespace edge_infer {

int64_t count_units(std::span<const int32_t> offsets, int64_t block_rows) {
  int64_t count = 0;
  for (size_t b = 0; b + 1 < offsets.size(); ++b)
    count += (offsets[b + 1] - offsets[b] + block_rows - 1) / block_rows;
  return count;
}

void fill_units(std::span<const int32_t> offsets, int64_t block_rows, std::span<WorkUnit> units) {
  size_t u = 0;
  for (size_t b = 0; b + 1 < offsets.size(); ++b)
    for (int64_t row = 0; row < offsets[b + 1] - offsets[b]; row += block_rows)
      units[u++] = {static_cast<int32_t>(b), static_cast<int32_t>(row)};
}

}  // namespace edge_infer
