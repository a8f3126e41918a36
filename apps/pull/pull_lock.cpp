#include "apps/pull/pull_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace edge_infer {
namespace {

bool is_file_at(int descriptor, const std::filesystem::path& path) {
  struct stat held{}, named{};
  return ::fstat(descriptor, &held) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace

Result<PullLock> PullLock::take(const std::filesystem::path& path, const std::string& name) {
  while (true) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0)
      return fail(ErrorCode::kIoError, "cannot write \"{}\": {}", path.native(), std::strerror(errno));
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      ::close(descriptor);
      return fail(ErrorCode::kResourceExhausted, "another pull of \"{}\" is running", name);
    }
    // Another pull may have ended, and removed this file, between the two calls: then it locks nothing.
    if (is_file_at(descriptor, path)) return PullLock(descriptor, path);
    ::close(descriptor);
  }
}

PullLock::PullLock(int descriptor, std::filesystem::path path)
    : descriptor_(descriptor), path_(std::move(path)) {}
PullLock::PullLock(PullLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

PullLock::~PullLock() {
  if (descriptor_ < 0) return;
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace edge_infer
