// Weights of bf16 in the layouts that gemm_amx.c and gemm_bf16.c read.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/device/device.h"

namespace edge_infer {

// [ceil(n / panel)][ceil(k / depth)][panel / width][depth / 2][width][2]: panels of columns, steps of `depth`
// k, tiles of `width` columns, pairs of k together. Zeros beyond n and k.
struct Bf16Layout {
  int64_t panel, depth, width;
  static std::optional<Bf16Layout> find(std::string_view format);  // "nk.bf16.p16", ".p32", ".amx32"
};

// Errors: kInvalidArgument, kResourceExhausted.
Result<size_t> bf16_packed_bytes(const Bf16Layout& layout, int64_t n, int64_t k);
// `out` has exactly that many bytes. Rounds to nearest even; NaN stays one.
void pack_bf16(const Bf16Layout& layout, std::span<const Device::Rows> sources, int64_t k,
               std::span<std::byte> out);

}  // namespace edge_infer
