// BatchBlock: the description of one packed batch, one layout for every back end (loop_ir.md §8): a 64-byte
// header, then sections at offsets fixed by the capacities, each 64-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/aligned_bytes.h"
#include "runtime/base/error.h"
#include "runtime/program/unit_list.h"

namespace edge_infer {

struct BatchCapacity {
  int32_t tokens = 0, sequences = 0, units = 0;
};

class BatchBlock {
 public:
  struct Header {
    int32_t version, tokens, sequences, max_length;
    int32_t unit_counts[4];
    int32_t flags;
    int32_t reserved[7];
  };
  static_assert(sizeof(Header) == 64);

  // Offsets of the sections in bytes from the block's start, and its size.
  struct Layout {
    size_t offsets, ids, positions, sequence_of, units, bytes;
  };
  static Layout layout(const BatchCapacity& capacity);

  explicit BatchBlock(const BatchCapacity& capacity);

  // Packs `texts` (token ids) and the work units of `block_rows` rows. Errors: kInvalidArgument for an empty
  // text, kResourceExhausted when a capacity is exceeded; the block is then unchanged.
  Status fill(std::span<const std::span<const int32_t>> texts, int64_t block_rows);

  const Header& header() const { return *reinterpret_cast<const Header*>(memory_.data()); }
  std::span<int32_t> offsets() { return section(layout_.offsets, header().sequences + 1); }   // [B + 1]
  std::span<int32_t> ids() { return section(layout_.ids, header().tokens); }                  // [T]
  std::span<int32_t> positions() { return section(layout_.positions, header().tokens); }      // [T]
  std::span<int32_t> sequence_of() { return section(layout_.sequence_of, header().tokens); }  // [T]
  std::span<WorkUnit> units() {
    return {reinterpret_cast<WorkUnit*>(memory_.data() + layout_.units),
            static_cast<size_t>(header().unit_counts[0])};
  }
  const BatchCapacity& capacity() const { return capacity_; }

 private:
  std::span<int32_t> section(size_t offset, int32_t count) {
    return {reinterpret_cast<int32_t*>(memory_.data() + offset), static_cast<size_t>(count)};
  }
  BatchCapacity capacity_;
  Layout layout_;
  AlignedBytes memory_;
};

}  // namespace edge_infer
