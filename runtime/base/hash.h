// Content hashes (XXH3-128): identity of files and texts, not a defence against forgery.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace edge_infer {

struct Hash128 {
  uint64_t low = 0, high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
  std::string hex() const;  // 32 lower-case digits
};

Hash128 hash_bytes(std::span<const std::byte> bytes);
inline Hash128 hash_text(std::string_view text) {
  return hash_bytes(std::as_bytes(std::span(text)));
}

}  // namespace edge_infer
