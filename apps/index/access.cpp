#include "apps/index/access.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace edge_infer {
namespace {

// 0, or why this user has no such access.
int refusal(const std::filesystem::path& path, int wanted) {
  return ::faccessat(AT_FDCWD, path.c_str(), wanted, AT_EACCESS) == 0 ? 0 : errno;
}

}  // namespace

Status check_file_access(const std::filesystem::path& file, Access access) {
  if (refusal(file, F_OK) == EACCES)
    return fail(ErrorCode::kIoError, "\"{}\": permission denied: a folder above it is closed to this user",
                file.native());
  if (refusal(file, R_OK) == EACCES)
    return fail(ErrorCode::kIoError, "\"{}\": permission denied: this user may not read it", file.native());
  if (access == Access::kRead) return {};
  switch (refusal(file, W_OK)) {
    case EACCES:
      return fail(ErrorCode::kIoError, "\"{}\": permission denied: this user may not write it",
                  file.native());
    case EROFS:
      return fail(ErrorCode::kIoError, "\"{}\" lies on a read-only file system", file.native());
    default:
      return {};
  }
}

Status check_folder_access(const std::filesystem::path& file) {
  const std::filesystem::path parent = file.parent_path();
  const std::filesystem::path folder = parent.empty() ? "." : parent;
  switch (refusal(folder, W_OK | X_OK)) {
    case EACCES:
      return fail(ErrorCode::kIoError,
                  "\"{}\": permission denied: this user may not make files in the folder \"{}\"",
                  file.native(), folder.native());
    case EROFS:
      return fail(ErrorCode::kIoError, "\"{}\": the folder \"{}\" lies on a read-only file system",
                  file.native(), folder.native());
    default:
      return {};
  }
}

}  // namespace edge_infer
