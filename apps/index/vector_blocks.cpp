#include "apps/index/vector_blocks.h"

#include <bit>
#include <cstring>

namespace edge_infer {
namespace {

static_assert(std::endian::native == std::endian::little,
              "vectors and bitmaps are stored as they lie in memory");

int64_t count_bits(const LiveBits& bits) {
  int64_t count = 0;
  for (const uint64_t word : bits) count += std::popcount(word);
  return count;
}

}  // namespace

Result<LiveBits> decode_live_bits(const Database& database, int64_t block, std::span<const std::byte> bytes) {
  LiveBits bits;
  if (bytes.size() != sizeof bits)
    return fail(ErrorCode::kCorruption, "\"{}\": bitmap of block {} has {} bytes, expected {}",
                database.path().native(), block, bytes.size(), sizeof bits);
  std::memcpy(bits.data(), bytes.data(), sizeof bits);
  return bits;
}

Result<VectorBlocks> VectorBlocks::create(const Database& database, int64_t dimensions) {
  VectorBlocks blocks(database, dimensions);
  EDGE_INFER_ASSIGN(blocks.load_, database.prepare("SELECT live FROM block WHERE id = ?"));
  EDGE_INFER_ASSIGN(blocks.room_,
                    database.prepare("SELECT id FROM block WHERE used < 256 ORDER BY id LIMIT 1"));
  EDGE_INFER_ASSIGN(blocks.last_, database.prepare("SELECT id, used FROM block ORDER BY id DESC LIMIT 1"));
  EDGE_INFER_ASSIGN(blocks.insert_,
                    database.prepare("INSERT INTO block(id, used, live) VALUES(?, 0, zeroblob(32))"));
  EDGE_INFER_ASSIGN(blocks.insert_data_,
                    database.prepare("INSERT INTO block_data(id, data) VALUES(?, zeroblob(?))"));
  EDGE_INFER_ASSIGN(blocks.update_, database.prepare("UPDATE block SET used = ?, live = ? WHERE id = ?"));
  EDGE_INFER_ASSIGN(blocks.delete_, database.prepare("DELETE FROM block WHERE id = ?"));
  EDGE_INFER_ASSIGN(blocks.delete_data_, database.prepare("DELETE FROM block_data WHERE id = ?"));
  return blocks;
}

Result<VectorBlocks::Block*> VectorBlocks::load(int64_t id) {
  const auto found = blocks_.find(id);
  if (found != blocks_.end()) return &found->second;
  EDGE_INFER_ASSIGN(const bool row, load_.bind(0, id).step());
  if (!row)
    return fail(ErrorCode::kCorruption, "\"{}\": block {} is missing", database_->path().native(), id);
  auto live = decode_live_bits(*database_, id, load_.blob(0));
  load_.reset();
  if (!live) return std::unexpected(live.error());
  return &blocks_.emplace(id, Block{count_bits(*live), *live, false}).first->second;
}

Result<int64_t> VectorBlocks::block_with_room() {
  // The query must see places that were taken or freed since the last flush.
  EDGE_INFER_RETURN_IF_ERROR(flush());
  EDGE_INFER_ASSIGN(const bool room, room_.step());
  if (room) {
    const int64_t id = room_.integer(0);
    room_.reset();
    return id;
  }
  EDGE_INFER_ASSIGN(const bool any, last_.step());
  const int64_t id = any ? last_.integer(0) + 1 : 1;
  last_.reset();
  EDGE_INFER_RETURN_IF_ERROR(insert_.bind(0, id).run());
  const int64_t bytes = kBlockSlots * dimensions_ * static_cast<int64_t>(sizeof(float));
  EDGE_INFER_RETURN_IF_ERROR(insert_data_.bind(0, id).bind(1, bytes).run());
  return id;
}

Result<int64_t> VectorBlocks::add(std::span<const float> vector) {
  if (static_cast<int64_t>(vector.size()) != dimensions_)
    return fail(ErrorCode::kInvalidArgument, "a vector of {} numbers, expected {}", vector.size(),
                dimensions_);
  Block* block = nullptr;
  if (open_) {
    EDGE_INFER_ASSIGN(block, load(*open_));
  }
  if (block == nullptr || block->used >= kBlockSlots) {
    EDGE_INFER_ASSIGN(open_, block_with_room());
    EDGE_INFER_ASSIGN(block, load(*open_));
  }
  size_t word = 0;
  while (word < block->live.size() && block->live[word] == ~uint64_t{0}) ++word;
  if (word == block->live.size())
    return fail(ErrorCode::kCorruption, "\"{}\": block {} has no free place", database_->path().native(),
                *open_);
  const int bit = std::countr_one(block->live[word]);
  const int64_t place = static_cast<int64_t>(word) * 64 + bit;
  EDGE_INFER_ASSIGN(BlobHandle data, BlobHandle::open(*database_, "block_data", "data", *open_, true));
  EDGE_INFER_RETURN_IF_ERROR(
      data.write(std::as_bytes(vector), place * static_cast<int64_t>(vector.size_bytes())));
  block->live[word] |= uint64_t{1} << bit;
  block->used += 1;
  block->changed = true;
  return *open_ * kBlockSlots + place;
}

Status VectorBlocks::read(int64_t slot, std::span<float> out) {
  EDGE_INFER_ASSIGN(BlobHandle data,
                    BlobHandle::open(*database_, "block_data", "data", slot / kBlockSlots, false));
  return data.read(std::as_writable_bytes(out), slot % kBlockSlots * static_cast<int64_t>(out.size_bytes()));
}

Status VectorBlocks::release(int64_t slot) {
  EDGE_INFER_ASSIGN(Block * block, load(slot / kBlockSlots));
  const auto place = static_cast<uint64_t>(slot % kBlockSlots);
  const uint64_t bit = uint64_t{1} << (place % 64);
  if ((block->live[place / 64] & bit) == 0)
    return fail(ErrorCode::kCorruption, "\"{}\": slot {} is freed twice", database_->path().native(), slot);
  block->live[place / 64] &= ~bit;
  block->used -= 1;
  block->changed = true;
  return {};
}

Status VectorBlocks::flush() {
  for (auto& [id, block] : blocks_) {
    if (!block.changed) continue;
    const auto bytes = std::as_bytes(std::span(block.live));
    EDGE_INFER_RETURN_IF_ERROR(update_.bind(0, block.used).bind_blob(1, bytes).bind(2, id).run());
    block.changed = false;
  }
  while (true) {
    EDGE_INFER_ASSIGN(const bool any, last_.step());
    if (!any) return {};
    const int64_t id = last_.integer(0), used = last_.integer(1);
    last_.reset();
    if (used > 0) return {};
    EDGE_INFER_RETURN_IF_ERROR(delete_.bind(0, id).run());
    EDGE_INFER_RETURN_IF_ERROR(delete_data_.bind(0, id).run());
    blocks_.erase(id);
    if (open_ == id) open_.reset();
  }
}

void VectorBlocks::forget() {
  blocks_.clear();
  open_.reset();
}

}  // namespace edge_infer
