#include "apps/index/walk.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

namespace edge_infer {
namespace {

FileStamp stamp_of(const struct stat& st) {
  return {st.st_dev, st.st_ino, static_cast<uint64_t>(st.st_size),
          st.st_mtim.tv_sec * int64_t{1'000'000'000} + st.st_mtim.tv_nsec,
          st.st_ctim.tv_sec * int64_t{1'000'000'000} + st.st_ctim.tv_nsec};
}

const char* kind_of(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "not a regular file";
}

bool is_below(const std::string& path, const std::string& folder) {
  if (!path.starts_with(folder)) return false;
  return path.size() == folder.size() || folder.ends_with('/') || path[folder.size()] == '/';
}

class Walker {
 public:
  Walker(const std::filesystem::path& index_file, const std::atomic<bool>& cancel, WalkResult& result)
      : cancel_(cancel), result_(result) {
    std::error_code ignored;
    index_file_ =
        std::filesystem::weakly_canonical(std::filesystem::absolute(index_file, ignored), ignored).native();
  }

  void walk_root(const std::filesystem::path& given) {
    if (given.empty()) {  // names nothing, and above all not the root of everything
      result_.missing.emplace_back();
      return;
    }
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(given, error);
    std::filesystem::path real = std::filesystem::canonical(absolute, error);
    if (error) {
      std::error_code ignored;
      real = std::filesystem::weakly_canonical(absolute, ignored);
      if (ignored) real = absolute;
      result_.roots.push_back(real.native());
      const bool missing =
          error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
      if (missing)
        result_.missing.push_back(real.native());
      else
        refuse_folder(real.native(), error.value());
      return;
    }
    result_.roots.push_back(real.native());
    visit(real.native());
  }

 private:
  void refuse_folder(const std::string& path, int error) {
    result_.refused.push_back(
        {path, FileStatus::kFailed, fmt::format("cannot open: {}", std::strerror(error))});
    result_.unreadable.push_back(path);
  }

  // Folders are taken from a list of their own, so that no depth of nesting exhausts the stack.
  void visit(const std::string& root) {
    visit_entry(root);
    while (!folders_.empty() && !cancel_) {
      const std::string folder = std::move(folders_.back());
      folders_.pop_back();
      visit_folder(folder);
    }
    folders_.clear();
  }

  void visit_entry(const std::string& path) {
    struct stat st{};
    if (::lstat(path.c_str(), &st) != 0) {
      if (errno != ENOENT) refuse_folder(path, errno);
      return;
    }
    if (S_ISDIR(st.st_mode)) {
      folders_.push_back(path);
    } else if (!S_ISREG(st.st_mode)) {
      result_.refused.push_back({path, FileStatus::kSkipped, kind_of(st.st_mode)});
    } else if (!is_index_file(path)) {
      result_.files.push_back({path, stamp_of(st)});
    }
  }

  void visit_folder(const std::string& folder) {
    struct CloseFolder {
      void operator()(DIR* d) const { ::closedir(d); }
    };
    const std::unique_ptr<DIR, CloseFolder> stream(::opendir(folder.c_str()));
    if (stream == nullptr) return refuse_folder(folder, errno);
    while (!cancel_) {
      errno = 0;
      const dirent* entry = ::readdir(stream.get());
      if (entry == nullptr) {
        if (errno != 0) refuse_folder(folder, errno);
        return;
      }
      if (entry->d_name[0] == '.') continue;
      visit_entry(folder.ends_with('/') ? folder + entry->d_name : folder + '/' + entry->d_name);
    }
  }

  bool is_index_file(const std::string& path) const {
    if (!path.starts_with(index_file_)) return false;
    const std::string_view rest = std::string_view(path).substr(index_file_.size());
    return rest.empty() || rest == "-wal" || rest == "-shm" || rest == "-journal";
  }

  const std::atomic<bool>& cancel_;
  WalkResult& result_;
  std::string index_file_;
  std::vector<std::string> folders_;
};

}  // namespace

bool WalkResult::is_gone(const std::string& path) const {
  const auto at = std::lower_bound(files.begin(), files.end(), path,
                                   [](const FoundFile& f, const std::string& p) { return f.path < p; });
  if (at != files.end() && at->path == path) return false;
  return std::none_of(unreadable.begin(), unreadable.end(),
                      [&](const std::string& folder) { return is_below(path, folder); });
}

WalkResult walk_files(std::span<const std::filesystem::path> paths, const std::filesystem::path& index_file,
                      const std::atomic<bool>& cancel) {
  WalkResult result;
  Walker walker(index_file, cancel, result);
  for (const auto& path : paths) walker.walk_root(path);
  const auto by_path = [](const auto& a, const auto& b) { return a.path < b.path; };
  const auto same_path = [](const auto& a, const auto& b) { return a.path == b.path; };
  std::sort(result.files.begin(), result.files.end(), by_path);
  result.files.erase(std::unique(result.files.begin(), result.files.end(), same_path), result.files.end());
  std::sort(result.refused.begin(), result.refused.end(), by_path);
  result.refused.erase(std::unique(result.refused.begin(), result.refused.end(), same_path),
                       result.refused.end());
  return result;
}

Result<FileStamp> stamp_regular_file(const std::string& path) {
  struct stat st{};
  if (::lstat(path.c_str(), &st) != 0) {
    const bool gone = errno == ENOENT || errno == ENOTDIR;
    return fail(gone ? ErrorCode::kNotFound : ErrorCode::kIoError, "cannot inspect: {}",
                std::strerror(errno));
  }
  if (!S_ISREG(st.st_mode)) return fail(ErrorCode::kUnsupported, "{}", kind_of(st.st_mode));
  return stamp_of(st);
}

}  // namespace edge_infer
