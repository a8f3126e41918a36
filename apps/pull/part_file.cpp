#include "apps/pull/part_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace edge_infer {

Result<PartFile> PartFile::open(const std::filesystem::path& path) {
  PartFile file;
  file.path_ = path;
  file.descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file.descriptor_ < 0) return std::unexpected(file.failed().error());
  file.size_ = static_cast<uint64_t>(std::max<off_t>(0, ::lseek(file.descriptor_, 0, SEEK_END)));
  return file;
}

PartFile::PartFile(PartFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)), size_(other.size_) {}

PartFile::~PartFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status PartFile::clear() {
  if (::ftruncate(descriptor_, 0) != 0 || ::lseek(descriptor_, 0, SEEK_SET) != 0) return failed();
  size_ = 0;
  return {};
}

Status PartFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed();
    bytes.remove_prefix(static_cast<size_t>(written));
    size_ += static_cast<uint64_t>(written);
  }
  return {};
}

Status PartFile::sync() {
  return ::fsync(descriptor_) == 0 ? Status() : failed();
}

Status PartFile::failed() const {
  return fail(ErrorCode::kIoError, "cannot write \"{}\": {}", path_.native(), std::strerror(errno));
}

}  // namespace edge_infer
