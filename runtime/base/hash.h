// Hashes of content: XXH3-128 for the identity of files and texts, which is no defence against forgery, and
// BLAKE2b-256 where a collision would run the wrong code.
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

// BLAKE2b-256 of `bytes`, 64 lower-case hex digits.
std::string content_digest(std::span<const std::byte> bytes);
inline std::string content_digest(std::string_view text) {
  return content_digest(std::as_bytes(std::span(text)));
}

}  // namespace edge_infer
