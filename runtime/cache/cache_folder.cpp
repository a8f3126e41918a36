#include "runtime/cache/cache_folder.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

namespace edge_infer::cache {
namespace fs = std::filesystem;
namespace {

std::mutex& thread_lock() {
  static std::mutex mutex;
  return mutex;
}

std::unexpected<Error> refused(const fs::path& path, const std::string& why) {
  return fail(ErrorCode::kIoError, "\"{}\" {}", path.native(), why);
}

Status check_parent(const fs::path& parent) {
  struct stat st{};
  if (::lstat(parent.c_str(), &st) != 0) return refused(parent, std::strerror(errno));
  if (st.st_uid != 0 && st.st_uid != ::geteuid())
    return refused(parent, fmt::format("belongs to another user (uid {})", st.st_uid));
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st.st_mode & S_ISVTX) == 0)
    return refused(parent, fmt::format("can be written by other users (mode {:o})", st.st_mode & 07777));
  return {};
}

}  // namespace

Result<TrustedFolder> trusted_folder(const fs::path& dir) {
  if (::getauxval(AT_SECURE) != 0)
    return fail(ErrorCode::kIoError, "the program runs with raised privileges");
  if (dir.empty()) return fail(ErrorCode::kIoError, "no home folder is known");
  std::error_code error;
  const fs::path absolute = fs::absolute(dir, error).lexically_normal();
  const fs::path name = absolute.has_filename() ? absolute.filename() : absolute.parent_path().filename();
  const fs::path above =
      absolute.has_filename() ? absolute.parent_path() : absolute.parent_path().parent_path();
  fs::create_directories(above, error);
  const fs::path parent = fs::canonical(above, error);
  if (error) return refused(above, error.message());
  for (fs::path p = parent;; p = p.parent_path()) {
    EDGE_INFER_RETURN_IF_ERROR(check_parent(p));
    if (p == p.root_path()) break;
  }
  fs::path folder = parent / name;
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return refused(folder, std::strerror(errno));
  struct stat st{};
  if (::lstat(folder.c_str(), &st) != 0) return refused(folder, std::strerror(errno));
  if (!S_ISDIR(st.st_mode)) return refused(folder, "is not a directory");
  if (st.st_uid != ::geteuid())
    return refused(folder, fmt::format("belongs to another user (uid {})", st.st_uid));
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return refused(folder, fmt::format("can be written by other users (mode {:o})", st.st_mode & 07777));
  // Others may have had the right to read: harmless, but no longer given.
  if ((st.st_mode & 0077) != 0) (void)::chmod(folder.c_str(), st.st_mode & 0700);
  if (::access(folder.c_str(), R_OK | X_OK) != 0)
    return refused(folder, fmt::format("is not readable: {}", std::strerror(errno)));
  TrustedFolder trusted{.path = folder, .read_only = {}};
  if (::access(folder.c_str(), W_OK) != 0)
    trusted.read_only = fmt::format("\"{}\" is not writable: {}", folder.native(), std::strerror(errno));
  return trusted;
}

Result<bool> trusted_file(const fs::path& file) {
  struct stat st{};
  if (::lstat(file.c_str(), &st) != 0) {
    if (errno == ENOENT) return false;
    return refused(file, std::strerror(errno));
  }
  if (!S_ISREG(st.st_mode)) return refused(file, "is not a regular file");
  if (st.st_uid != ::geteuid())
    return refused(file, fmt::format("belongs to another user (uid {})", st.st_uid));
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return refused(file, fmt::format("can be written by other users (mode {:o})", st.st_mode & 07777));
  return true;
}

Status create_file(const fs::path& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return errno == EEXIST ? Status{} : refused(file, std::strerror(errno));
  ::close(fd);
  return {};
}

FileId file_id(const fs::path& file) {
  struct stat st{};
  if (::lstat(file.c_str(), &st) != 0) return {};
  return {st.st_dev, st.st_ino};
}

FolderLock::FolderLock(const fs::path& dir) {
  thread_lock().lock();
  fd_ = ::open((dir / "kernels.lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd_ >= 0)
    while (::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
  thread_lock().unlock();
}

}  // namespace edge_infer::cache
