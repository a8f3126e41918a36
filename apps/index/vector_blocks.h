// Where vectors lie in the index file: blocks of kBlockSlots float32 vectors, so that a scan reads few long
// rows. A block's bitmap says which places hold a live vector; free places are filled before a new block is
// added.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "apps/index/schema.h"
#include "apps/index/sqlite.h"

namespace edge_infer {

using LiveBits = std::array<uint64_t, kBlockSlots / 64>;  // bit p % 64 of word p / 64: place p is live

// Bytes of a block's bitmap as stored (little-endian words). Errors: kCorruption for another length.
Result<LiveBits> decode_live_bits(const Database& database, int64_t block, std::span<const std::byte> bytes);

// The writer's side. Bitmaps are kept in memory between begin() and flush(), which the caller puts around
// each write transaction: other processes may change them in between.
class VectorBlocks {
 public:
  static Result<VectorBlocks> create(const Database& database, int64_t dimensions);

  // Stores a vector in a free place and returns its slot.
  Result<int64_t> add(std::span<const float> vector);
  Status read(int64_t slot, std::span<float> out);
  Status release(int64_t slot);
  // Writes the changed bitmaps; drops blocks at the end that became empty.
  Status flush();
  // Forgets what was not flushed (the transaction was rolled back, or another begins).
  void forget();

 private:
  struct Block {
    int64_t used = 0;
    LiveBits live{};
    bool changed = false;
  };
  VectorBlocks(const Database& database, int64_t dimensions)
      : database_(&database), dimensions_(dimensions) {}
  Result<Block*> load(int64_t id);
  Result<int64_t> block_with_room();

  const Database* database_;
  int64_t dimensions_;
  std::map<int64_t, Block> blocks_;
  std::optional<int64_t> open_;  // the block that add() fills
  Statement load_, room_, last_, insert_, insert_data_, update_, delete_, delete_data_;
};

}  // namespace edge_infer
