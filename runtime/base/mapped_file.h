// A read-only, private memory map of a whole regular file, and the stamp that identifies its content cheaply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "runtime/base/error.h"

namespace edge_infer {

// Identity of a file's content without reading it: equal stamps mean "not touched since" (device, inode, size
// in bytes, modification and change time in ns).
struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t mtime_ns = 0, ctime_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
Result<FileStamp> stamp_file(const std::filesystem::path& path);

// Movable owner of the map; the span stays valid until destruction. A file that shrinks while mapped raises
// SIGBUS on access, so only files that their owner replaces by rename are mapped (models, caches), never user
// documents.
class MappedFile {
 public:
  // Errors: kNotFound, kIoError (the path and the system's reason are named); kInvalidArgument for a
  // directory. `populate` reads the pages ahead in one call instead of faulting them one by one.
  static Result<MappedFile> open(const std::filesystem::path& path, bool populate = false);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const FileStamp& stamp() const { return stamp_; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  FileStamp stamp_;
};

// The whole file as a string, up to `limit` bytes (kResourceExhausted beyond).
Result<std::string> read_file(const std::filesystem::path& path, size_t limit);

// Writes a temporary file beside `path`, flushes it and renames it over `path`: readers see the old or the
// new content, never a part. Mode 0600. The temporary file is locked while it is written, and removed after
// an error. Errors: kIoError with the system's reason (a read-only directory); kResourceExhausted (a full
// disk, a file beyond RLIMIT_FSIZE, which raises no signal here).
Status write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> content);

}  // namespace edge_infer
