#include "runtime/base/paths.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace edge_infer {
namespace fs = std::filesystem;

fs::path default_cache_dir() {
  const auto variable = [](const char* name) -> std::string_view {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  if (const auto dir = variable("EDGE_INFER_CACHE"); !dir.empty()) return dir;
  // Its specification says so: a relative path is invalid and ignored.
  if (const auto dir = variable("XDG_CACHE_HOME"); dir.starts_with('/')) return fs::path(dir) / "edge-infer";
  if (const auto dir = variable("HOME"); !dir.empty()) return fs::path(dir) / ".cache" / "edge-infer";
  return {};
}

Status ensure_private_dir(const fs::path& dir) {
  std::error_code error;
  fs::create_directories(dir.parent_path(), error);
  if (::mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(ErrorCode::kIoError, "cannot create \"{}\": {}", dir.native(), std::strerror(errno));
  struct stat st{};
  if (::stat(dir.c_str(), &st) != 0 || !S_ISDIR(st.st_mode))
    return fail(ErrorCode::kIoError, "\"{}\" is not a directory", dir.native());
  if (st.st_uid != ::geteuid())
    return fail(ErrorCode::kIoError, "\"{}\" belongs to another user (uid {})", dir.native(), st.st_uid);
  if (::access(dir.c_str(), W_OK | X_OK) != 0)
    return fail(ErrorCode::kIoError, "cannot write to \"{}\": {}", dir.native(), std::strerror(errno));
  return {};
}

fs::path own_folder() {
  // The address of this function names the file it was linked into. Only a library has a name in the loader's
  // map; for the program itself dladdr() gives argv[0], which may be any file of that name in the working
  // directory.
  Dl_info info{};
  link_map* map = nullptr;
  if (::dladdr1(reinterpret_cast<const void*>(&own_folder), &info, reinterpret_cast<void**>(&map),
                RTLD_DL_LINKMAP) != 0 &&
      map != nullptr && map->l_name != nullptr && *map->l_name != 0) {
    std::error_code error;
    const fs::path file = fs::canonical(map->l_name, error);
    if (!error) return file.parent_path();
  }
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace edge_infer
