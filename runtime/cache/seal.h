// Seal: authenticates the cache's rows with HMAC-SHA-256 under a key that this installation made for itself.
#pragma once

#include <array>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace edge_infer::cache {

class Seal {
 public:
  static constexpr size_t kBytes = 32;

  // The key in `file` (mode 0600, 32 random bytes, made where missing or of another size), mixed with the
  // machine's and the user's identity, so that a copied folder is not trusted elsewhere. Called under the
  // FolderLock. Errors: kIoError.
  static Result<Seal> load(const std::filesystem::path& file);
  // The same without making one. Errors: kIoError, kNotFound.
  static Result<Seal> load_existing(const std::filesystem::path& file);
  // For a cache in memory.
  static Seal random();

  // Over the parts, each with its length.
  std::string seal(std::initializer_list<std::string_view> parts) const;
  bool holds(std::string_view mac, std::initializer_list<std::string_view> parts) const;

 private:
  static Seal from(std::string_view key);
  std::array<unsigned char, kBytes> key_{};
};

}  // namespace edge_infer::cache
