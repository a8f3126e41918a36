#include "backends/cpu/pack_bf16.h"

#include <cstdint>
#include <cstring>
#include <limits>

#include "runtime/base/half.h"

namespace edge_infer {
std::optional<Bf16Layout> Bf16Layout::find(std::string_view format) {
  if (format == "nk.bf16.amx32") return Bf16Layout{32, 32, 16};
  if (format == "nk.bf16.p32") return Bf16Layout{32, 2, 32};
  if (format == "nk.bf16.p16") return Bf16Layout{16, 2, 16};
  return std::nullopt;
}

Result<size_t> bf16_packed_bytes(const Bf16Layout& layout, int64_t n, int64_t k) {
  if (n < 0 || k < 0) return fail(ErrorCode::kInvalidArgument, "a weight of {} x {} elements", n, k);
  constexpr int64_t kLimit = std::numeric_limits<int64_t>::max() / 2;
  const auto padded = [](int64_t size, int64_t to) {
    return size > kLimit - to ? kLimit : (size + to - 1) / to * to;
  };
  const int64_t columns = padded(n, layout.panel), depth = padded(k, layout.depth);
  if (depth != 0 && columns > kLimit / depth)
    return fail(ErrorCode::kResourceExhausted, "a weight of {} x {} elements does not fit into memory", n, k);
  return static_cast<size_t>(columns * depth) * sizeof(uint16_t);
}

void pack_bf16(const Bf16Layout& layout, std::span<const Device::Rows> sources, int64_t k,
               std::span<std::byte> out) {
  std::memset(out.data(), 0, out.size());
  auto* const packed = reinterpret_cast<uint16_t*>(out.data());
  const int64_t depth = (k + layout.depth - 1) / layout.depth * layout.depth;
  int64_t column = 0;
  for (const Device::Rows& source : sources)
    for (int64_t row = 0; row < source.rows; ++row, ++column) {
      const float* from = source.data + row * k;
      const int64_t lane = column % layout.panel;
      uint16_t* panel = packed + (column - lane) * depth;
      // The column's first pair of a step; pairs follow at the tile's width.
      uint16_t* first = panel + lane / layout.width * layout.depth * layout.width + lane % layout.width * 2;
      for (int64_t i = 0; i < k; ++i)
        first[i / layout.depth * layout.depth * layout.panel + i % layout.depth / 2 * layout.width * 2 +
              i % 2] = bf16_of(from[i]);
    }
}

}  // namespace edge_infer
