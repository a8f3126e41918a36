// KernelBlob: compiled code that runs wherever it is mapped: machine code and read-only data laid out one
// behind the other, relocated against each other, with no undefined symbol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

struct KernelBlob {
  std::vector<std::byte> image;  // to be mapped at an address that is a multiple of kAlignment
  uint64_t entry = 0;            // offset of the KernelFn in image
  uint64_t scratch_bytes = 0;    // per worker
  friend bool operator==(const KernelBlob&, const KernelBlob&) = default;

  static constexpr size_t kAlignment = 64;
  static constexpr size_t kMaxBytes = size_t{4} << 20;
  static constexpr uint64_t kMaxScratchBytes = uint64_t{1} << 32;

  // Little-endian: "EIBLOB01", entry u64, scratch u64, image bytes u64, image.
  std::vector<std::byte> serialize() const;
  // Errors: kCorruption naming what was found and expected (entry outside of the image, sizes that do not add
  // up).
  static Result<KernelBlob> parse(std::span<const std::byte> bytes);
};

}  // namespace edge_infer
