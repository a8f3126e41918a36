// Work units of packed sequences: blocks of query rows that never cross a sequence (loop_ir.md §6,
// attention).
#pragma once

#include <cstdint>
#include <span>

namespace edge_infer {

struct WorkUnit {
  int32_t sequence, first_row;  // row within the sequence
};

// Number of units for offsets [B + 1].
int64_t count_units(std::span<const int32_t> offsets, int64_t block_rows);
// Fills `units`, which has exactly count_units() elements: sequences ascending, rows ascending.
void fill_units(std::span<const int32_t> offsets, int64_t block_rows, std::span<WorkUnit> units);

}  // namespace edge_infer
