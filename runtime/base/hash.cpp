#include "runtime/base/hash.h"

#include <fmt/format.h>
#include <sodium.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace edge_infer {

std::string Hash128::hex() const {
  return fmt::format("{:016x}{:016x}", high, low);
}

Hash128 hash_bytes(std::span<const std::byte> bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.low64, h.high64};
}

std::string content_digest(std::span<const std::byte> bytes) {
  // Of sodium's functions this one needs no sodium_init().
  std::array<unsigned char, 32> digest{};
  crypto_generichash_blake2b(digest.data(), digest.size(),
                             reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace edge_infer
