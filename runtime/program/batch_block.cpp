#include "runtime/program/batch_block.h"

#include <algorithm>
#include <cstring>

namespace edge_infer {
namespace {
constexpr size_t kAlign = AlignedBytes::kAlignment;
constexpr size_t round_up(size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}
}  // namespace

BatchBlock::Layout BatchBlock::layout(const BatchCapacity& c) {
  const auto ints = [](int64_t n) { return round_up(static_cast<size_t>(n) * sizeof(int32_t)); };
  Layout l{};
  l.offsets = sizeof(Header);
  l.ids = l.offsets + ints(int64_t{c.sequences} + 1);
  l.positions = l.ids + ints(c.tokens);
  l.sequence_of = l.positions + ints(c.tokens);
  l.units = l.sequence_of + ints(c.tokens);
  l.bytes = l.units + round_up(static_cast<size_t>(c.units) * sizeof(WorkUnit));
  return l;
}

BatchBlock::BatchBlock(const BatchCapacity& capacity)
    : capacity_(capacity), layout_(layout(capacity)), memory_(layout_.bytes) {
  std::memset(memory_.data(), 0, sizeof(Header));
}

Status BatchBlock::fill(std::span<const std::span<const int32_t>> texts, int64_t block_rows) {
  int64_t tokens = 0, units = 0, longest = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto length = static_cast<int64_t>(texts[i].size());
    if (length == 0) return fail(ErrorCode::kInvalidArgument, "text {} has no tokens", i);
    tokens += length;
    units += (length + block_rows - 1) / block_rows;
    longest = std::max(longest, length);
  }
  if (static_cast<int64_t>(texts.size()) > capacity_.sequences || tokens > capacity_.tokens ||
      units > capacity_.units)
    return fail(ErrorCode::kResourceExhausted,
                "batch of {} sequences, {} tokens, {} units exceeds the capacity of {}, {}, {}", texts.size(),
                tokens, units, capacity_.sequences, capacity_.tokens, capacity_.units);
  Header& h = *reinterpret_cast<Header*>(memory_.data());
  h = {.version = 1,
       .tokens = static_cast<int32_t>(tokens),
       .sequences = static_cast<int32_t>(texts.size()),
       .max_length = static_cast<int32_t>(longest),
       .unit_counts = {static_cast<int32_t>(units), 0, 0, 0},
       .flags = 0,
       .reserved = {}};
  const auto cu = offsets(), id = ids(), position = positions(), sequence = sequence_of();
  int32_t at = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    cu[i] = at;
    for (size_t t = 0; t < texts[i].size(); ++t, ++at) {
      id[static_cast<size_t>(at)] = texts[i][t];
      position[static_cast<size_t>(at)] = static_cast<int32_t>(t);
      sequence[static_cast<size_t>(at)] = static_cast<int32_t>(i);
    }
  }
  cu[texts.size()] = at;
  fill_units(cu, block_rows, this->units());
  return {};
}

}  // namespace edge_infer
