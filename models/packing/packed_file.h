// The packed-weights file: operands in a device's formats, made once, mapped afterwards and shared by
// processes.
//
// Layout (little-endian): header {magic "EIPACK01", count, key bytes, payload offset}, `count` items {offset,
// bytes}, the key text, then 64-byte aligned payloads. The key names everything the content depends on
// (source files with their stamps, formats, tensors). A record beside it (`.stamp`) holds a hash of the whole
// file and the stamp that the file had when it was hashed: as long as the stamp is unchanged the file is
// trusted without reading it; otherwise it is hashed again, and rebuilt when it differs. The record's time of
// modification says when the file was used last.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/cache_files.h"
#include "runtime/base/mapped_file.h"

namespace edge_infer {

class PackedFile {
 public:
  // The file for `key` with items of exactly these sizes, if there is one that may be trusted.
  static std::optional<PackedFile> open(const std::filesystem::path& path, const std::string& key,
                                        std::span<const size_t> item_bytes);
  // Writes it; `fill(i, out)` makes item i. Errors: what `fill` reports, kIoError, kResourceExhausted.
  static Status write(const std::filesystem::path& path, const std::string& key,
                      std::span<const size_t> item_bytes,
                      const std::function<Status(size_t, std::span<std::byte>)>& fill);

  std::span<const std::byte> item(size_t i) const { return items_[i]; }

 private:
  MappedFile map_;
  CacheFileUse use_;
  std::vector<std::span<const std::byte>> items_;
};

}  // namespace edge_infer
