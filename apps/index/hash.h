// 128-bit content hashes (XXH3): of files, to see whether one changed, and of passages, to reuse their
// vectors. Not cryptographic: a forged collision can only spoil the forger's own entries.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "runtime/base/error.h"

namespace edge_infer {

using ContentHash = std::array<std::byte, 16>;

ContentHash hash_bytes(std::string_view bytes);
// Reads the file in pieces, so any size takes little memory. Never blocks on a FIFO or device: only regular
// files. `stop` ends it with kCancelled.
Result<ContentHash> hash_file(const std::filesystem::path& path, const std::function<bool()>& stop);

}  // namespace edge_infer
