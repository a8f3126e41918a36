#include "runtime/base/mapped_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/base/file_size_signal.h"

namespace edge_infer {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::unexpected<Error> system_error(const char* verb, const std::filesystem::path& path, int error) {
  ErrorCode code = ErrorCode::kIoError;
  if (error == ENOENT || error == ENOTDIR) code = ErrorCode::kNotFound;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) code = ErrorCode::kResourceExhausted;
  return fail(code, "cannot {} \"{}\": {}", verb, path.native(), std::strerror(error));
}

FileStamp stamp_of(const struct stat& st) {
  return {st.st_dev, st.st_ino, static_cast<uint64_t>(st.st_size),
          st.st_mtim.tv_sec * int64_t{1'000'000'000} + st.st_mtim.tv_nsec,
          st.st_ctim.tv_sec * int64_t{1'000'000'000} + st.st_ctim.tv_nsec};
}

Result<struct stat> stat_regular(int fd, const std::filesystem::path& path) {
  struct stat st{};
  if (::fstat(fd, &st) != 0) return system_error("inspect", path, errno);
  if (!S_ISREG(st.st_mode))
    return fail(ErrorCode::kInvalidArgument, "\"{}\" is not a regular file", path.native());
  return st;
}

Status write_all(int fd, std::span<const std::byte> content, const std::filesystem::path& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("write", path, errno);
    content = content.subspan(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

Result<FileStamp> stamp_file(const std::filesystem::path& path) {
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return system_error("inspect", path, errno);
  return stamp_of(st);
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path, bool populate) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return system_error("open", path, errno);
  EDGE_INFER_ASSIGN(const struct stat st, stat_regular(file.fd, path));
  MappedFile map;
  map.stamp_ = stamp_of(st);
  map.size_ = static_cast<size_t>(st.st_size);
  if (map.size_ == 0) return map;
  void* data = ::mmap(nullptr, map.size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) {
    map.size_ = 0;
    return system_error("map", path, errno);
  }
  map.data_ = static_cast<const std::byte*>(data);
  // Advice both: a file system without large folios refuses the first, an old kernel the second.
  if (populate) {
    (void)::madvise(data, map.size_, MADV_HUGEPAGE);
    if (::madvise(data, map.size_, MADV_POPULATE_READ) != 0) (void)::madvise(data, map.size_, MADV_WILLNEED);
  }
  return map;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      stamp_(other.stamp_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(stamp_, other.stamp_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<std::string> read_file(const std::filesystem::path& path, size_t limit) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return system_error("open", path, errno);
  EDGE_INFER_ASSIGN(const struct stat st, stat_regular(file.fd, path));
  std::string content;
  content.reserve(static_cast<size_t>(st.st_size) <= limit ? static_cast<size_t>(st.st_size) : 0);
  char buffer[65536];
  while (true) {
    const ssize_t n = ::read(file.fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("read", path, errno);
    if (n == 0) return content;
    if (content.size() + static_cast<size_t>(n) > limit)
      return fail(ErrorCode::kResourceExhausted, "\"{}\" is larger than the limit of {} bytes", path.native(),
                  limit);
    content.append(buffer, static_cast<size_t>(n));
  }
}

Status write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> content) {
  std::string temporary = path.native() + ".XXXXXX";
  const Descriptor file{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (file.fd < 0) return system_error("create a file beside", path, errno);
  // Tells a file that is being written from one that a dead process left. Some file systems have no locks.
  (void)::flock(file.fd, LOCK_EX | LOCK_NB);
  const FileSizeSignalBlock no_signal;
  Status written = write_all(file.fd, content, path);
  if (written && ::fsync(file.fd) != 0) written = system_error("flush", path, errno);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = system_error("replace", path, errno);
  if (!written) ::unlink(temporary.c_str());
  return written;
}

}  // namespace edge_infer
