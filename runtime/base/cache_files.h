// The files that the cache folder keeps beside kernels.db: packed weights, tokenizer images, hashes of
// contents. Each can be made again at any time, so losing one costs time only; together they stay below a
// limit. Removing one is safe beside processes that have it mapped: they keep what they have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/mapped_file.h"

namespace edge_infer {

// Of all such files together; the least recently used go first.
constexpr int64_t kCacheFilesLimit = int64_t{4} << 30;

struct CacheFile {
  enum class Kind {
    kPack,      // weights-HASH.pack, with its .stamp
    kImage,     // tokenizer-HASH.img
    kHash,      // content-HASH.hash
    kLeftover,  // what belongs to nothing any more: a temporary file of a process that has ended, a lone
                // .stamp
    kSetAside,  // kernels.db.corrupt-TIME
  };
  std::filesystem::path path;
  Kind kind = Kind::kLeftover;
  int64_t bytes = 0;
  int64_t last_used_ns = 0;  // since 1970
};

// In no order; temporary files that are being written are left out. Empty for a folder that cannot be read.
std::vector<CacheFile> list_cache_files(const std::filesystem::path& dir);

// Writes a file of the cache as write_file_atomically() does, and removes what is then beyond the limit:
// never a file that this process made or uses. Errors: of writing.
Status store_cache_file(const std::filesystem::path& path, std::span<const std::byte> content,
                        int64_t limit_bytes = kCacheFilesLimit);

// Removes all of them. Errors: kIoError naming the first that cannot be removed.
Status clear_cache_files(const std::filesystem::path& dir);

// Held while this process uses a file of the cache. Movable.
class CacheFileUse {
 public:
  CacheFileUse() = default;
  // Notes the time of use with the file `noted`, by its time of modification, at most once an hour: the file
  // itself or, where that one's stamp must not change, the one beside it.
  CacheFileUse(const FileStamp& file, const std::filesystem::path& noted);
  CacheFileUse(CacheFileUse&& other) noexcept;
  CacheFileUse& operator=(CacheFileUse&& other) noexcept;
  ~CacheFileUse();

 private:
  uint64_t device_ = 0, inode_ = 0;
};

// True once a process and folder: what cannot be kept there is said once, whoever notices first.
bool is_first_cache_warning(const std::filesystem::path& dir);

}  // namespace edge_infer
