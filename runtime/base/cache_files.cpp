#include "runtime/base/cache_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace edge_infer {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kTouchNs = 3600 * kSecond;
constexpr std::string_view kStamp = ".stamp";
constexpr size_t kRandomLetters = 6;  // that mkstemp() fills in

using Inode = std::pair<uint64_t, uint64_t>;

struct InUse {
  std::mutex mutex;
  std::map<Inode, int> files;  // with the number of uses
  std::set<fs::path> made;     // by this process; their inodes may become other files'
  std::set<fs::path> warned;
};
InUse& in_use() {
  static InUse& state = *new InUse;  // a host may close a model while its own statics are destroyed
  return state;
}

std::optional<CacheFile::Kind> kind_of(std::string_view name) {
  const auto is = [&](std::string_view prefix, std::string_view suffix) {
    return name.starts_with(prefix) && name.ends_with(suffix);
  };
  if (is("weights-", ".pack")) return CacheFile::Kind::kPack;
  if (is("tokenizer-", ".img")) return CacheFile::Kind::kImage;
  if (is("content-", ".hash")) return CacheFile::Kind::kHash;
  if (name.starts_with("kernels.db.corrupt-")) return CacheFile::Kind::kSetAside;
  return std::nullopt;
}

bool is_stamp(std::string_view name) {
  return name.ends_with(kStamp) &&
         kind_of(name.substr(0, name.size() - kStamp.size())) == CacheFile::Kind::kPack;
}

// What write_file_atomically() writes before it renames.
bool is_temporary(std::string_view name) {
  if (name.size() <= kRandomLetters + 1 || name[name.size() - kRandomLetters - 1] != '.') return false;
  name.remove_suffix(kRandomLetters + 1);
  return name == "kernels.key" || is_stamp(name) ||
         (kind_of(name) && kind_of(name) != CacheFile::Kind::kSetAside);
}

bool is_being_written(const fs::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const bool locked = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return locked;
}

int64_t modified_ns(const struct stat& st) {
  return st.st_mtim.tv_sec * kSecond + st.st_mtim.tv_nsec;
}

std::optional<struct stat> regular(const fs::path& path) {
  struct stat st{};
  if (::lstat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
  return st;
}

fs::path stamp_of(const fs::path& pack) {
  return pack.native() + std::string(kStamp);
}

Status remove_file(const CacheFile& file) {
  std::error_code error;
  fs::remove(file.path, error);
  if (error)
    return fail(ErrorCode::kIoError, "cannot remove \"{}\": {}", file.path.native(), error.message());
  // After its pack: one without the other is made again, whichever is left.
  if (file.kind == CacheFile::Kind::kPack) fs::remove(stamp_of(file.path), error);
  return {};
}

bool is_used_here(const fs::path& path) {
  const auto st = regular(path);
  if (!st) return false;
  const std::lock_guard lock(in_use().mutex);
  return in_use().made.contains(path) || in_use().files.contains({st->st_dev, st->st_ino});
}

void trim(const fs::path& dir, int64_t limit_bytes) {
  std::vector<CacheFile> files = list_cache_files(dir);
  int64_t total = 0;
  for (const CacheFile& file : files) {
    if (file.kind == CacheFile::Kind::kLeftover) (void)remove_file(file);
    if (file.kind != CacheFile::Kind::kSetAside && file.kind != CacheFile::Kind::kLeftover)
      total += file.bytes;
  }
  std::ranges::sort(files, {}, &CacheFile::last_used_ns);
  for (const CacheFile& file : files) {
    if (total <= limit_bytes) return;
    if (file.kind == CacheFile::Kind::kSetAside || file.kind == CacheFile::Kind::kLeftover) continue;
    if (is_used_here(file.path) || !remove_file(file)) continue;
    total -= file.bytes;
  }
}

}  // namespace

std::vector<CacheFile> list_cache_files(const fs::path& dir) {
  std::vector<CacheFile> files;
  std::error_code error;
  for (fs::directory_iterator entry(dir, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    const std::string name = path.filename().native();
    const auto st = regular(path);
    if (!st) continue;
    CacheFile file{.path = path, .bytes = st->st_size, .last_used_ns = modified_ns(*st)};
    if (const auto kind = kind_of(name)) {
      file.kind = *kind;
      const auto stamp = *kind == CacheFile::Kind::kPack ? regular(stamp_of(path)) : std::nullopt;
      if (stamp) file.bytes += stamp->st_size;
      if (stamp) file.last_used_ns = std::max(file.last_used_ns, modified_ns(*stamp));
    } else if (is_stamp(name)) {
      // The pack comes first when it is made, so without one this is left over.
      if (regular(path.native().substr(0, path.native().size() - kStamp.size()))) continue;
    } else if (!is_temporary(name) || is_being_written(path)) {
      continue;
    }
    files.push_back(std::move(file));
  }
  return files;
}

Status store_cache_file(const fs::path& path, std::span<const std::byte> content, int64_t limit_bytes) {
  EDGE_INFER_RETURN_IF_ERROR(write_file_atomically(path, content));
  {
    const std::lock_guard lock(in_use().mutex);
    in_use().made.insert(path);
  }
  trim(path.parent_path(), limit_bytes);
  return {};
}

Status clear_cache_files(const fs::path& dir) {
  Status first;
  for (const CacheFile& file : list_cache_files(dir))
    if (Status removed = remove_file(file); !removed && first) first = std::move(removed);
  return first;
}

CacheFileUse::CacheFileUse(const FileStamp& file, const fs::path& noted)
    : device_(file.device), inode_(file.inode) {
  {
    const std::lock_guard lock(in_use().mutex);
    ++in_use().files[{device_, inode_}];
  }
  const auto st = regular(noted);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (st && now.tv_sec * kSecond + now.tv_nsec - modified_ns(*st) >= kTouchNs)
    (void)::utimensat(AT_FDCWD, noted.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

CacheFileUse::CacheFileUse(CacheFileUse&& other) noexcept
    : device_(std::exchange(other.device_, 0)), inode_(std::exchange(other.inode_, 0)) {}

CacheFileUse& CacheFileUse::operator=(CacheFileUse&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

CacheFileUse::~CacheFileUse() {
  if (inode_ == 0) return;
  const std::lock_guard lock(in_use().mutex);
  const auto found = in_use().files.find({device_, inode_});
  if (found != in_use().files.end() && --found->second == 0) in_use().files.erase(found);
}

bool is_first_cache_warning(const fs::path& dir) {
  const std::lock_guard lock(in_use().mutex);
  return in_use().warned.insert(dir).second;
}

}  // namespace edge_infer
