#include "apps/pull/file_download.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "apps/pull/checksum.h"
#include "runtime/base/mapped_file.h"

namespace edge_infer {
namespace fs = std::filesystem;
namespace {

class PartFile {
 public:
  static Result<PartFile> open(const fs::path& path) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0)
      return fail(ErrorCode::kIoError, "cannot write \"{}\": {}", path.native(), std::strerror(errno));
    PartFile file;
    file.descriptor_ = descriptor;
    file.path_ = path;
    file.size_ = static_cast<uint64_t>(std::max<off_t>(0, ::lseek(descriptor, 0, SEEK_END)));
    return file;
  }
  PartFile(PartFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        path_(std::move(other.path_)),
        size_(other.size_) {}
  PartFile& operator=(PartFile&&) = delete;
  ~PartFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  uint64_t size() const { return size_; }
  Status clear() {
    if (::ftruncate(descriptor_, 0) != 0 || ::lseek(descriptor_, 0, SEEK_SET) != 0) return failed();
    size_ = 0;
    return {};
  }
  Status append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return failed();
      bytes.remove_prefix(static_cast<size_t>(written));
      size_ += static_cast<uint64_t>(written);
    }
    return {};
  }
  Status sync() { return ::fsync(descriptor_) == 0 ? Status() : failed(); }

 private:
  PartFile() = default;
  Status failed() const {
    return fail(ErrorCode::kIoError, "cannot write \"{}\": {}", path_.native(), std::strerror(errno));
  }

  int descriptor_ = -1;
  fs::path path_;
  uint64_t size_ = 0;
};

// "bytes 100-199/200" begins at `begin`.
bool range_begins_at(const std::string& content_range, uint64_t begin) {
  return content_range.starts_with(fmt::format("bytes {}-", begin));
}

std::string header_of(const FetchHead& head, const char* name) {
  const auto found = head.headers.find(name);
  return found == head.headers.end() ? "" : found->second;
}

Status status_error(const FetchHead& head, const HubFile& file, const std::string& url) {
  if (head.status == 404)
    return fail(ErrorCode::kNotFound, "{} is not there: {} answers 404", file.name, url);
  if (head.status == 401 || head.status == 403)
    return fail(ErrorCode::kIoError, "{} may not be read (status {}): for a gated model set $HF_TOKEN",
                file.name, head.status);
  return fail(ErrorCode::kIoError, "{} cannot be fetched: {} answers with status {}", file.name, url,
              head.status);
}

}  // namespace

Status download_file(HttpFetcher& fetcher, const std::string& url, HubFile& file, const fs::path& target,
                     const PullOptions& options, PullProgress& progress) {
  const fs::path part_path = target.native() + ".part", etag_path = target.native() + ".part.etag";
  std::error_code ignored;
  fs::create_directories(target.parent_path(), ignored);
  if (fs::exists(target, ignored)) {
    // Of an earlier, interrupted pull of the same revision.
    if (verify_file(target, file))
      return progress.file_end(file.name, fs::file_size(target, ignored)), Status();
    fs::remove(target, ignored);
  }
  EDGE_INFER_ASSIGN(PartFile part, PartFile::open(part_path));
  if (file.size && part.size() > *file.size) EDGE_INFER_RETURN_IF_ERROR(part.clear());
  const uint64_t limit = file.size.value_or(options.size_limit);
  bool complete = file.size && part.size() == *file.size && *file.size > 0;
  progress.file_start(file.name, file.size.value_or(0), part.size());

  bool range_refused = false;
  for (int attempt = 0; !complete; ++attempt) {
    FetchRequest request{url, {}};
    const uint64_t begin = part.size();
    if (begin > 0) {
      request.headers["Range"] = fmt::format("bytes={}-", begin);
      if (const auto etag = read_file(etag_path, 1024); etag && !etag->empty())
        request.headers["If-Range"] = *etag;
    }
    const auto on_head = [&](const FetchHead& head) -> Status {
      if (head.status == 416 && begin > 0) {
        range_refused = true;
        return part.clear();
      }
      if (head.status != 200 && head.status != 206) return status_error(head, file, url);
      if (head.status == 200 && begin > 0) EDGE_INFER_RETURN_IF_ERROR(part.clear());
      if (head.status == 206 && !range_begins_at(header_of(head, "content-range"), begin))
        return fail(ErrorCode::kIoError, "{}: asked for bytes from {}, the server sends \"{}\"", file.name,
                    begin, header_of(head, "content-range").substr(0, 60));
      if (file.sha256.empty() && is_hex(head.linked_etag, 64)) file.sha256 = head.linked_etag;
      if (file.sha256.empty() && file.git_sha1.empty() && is_hex(head.etag, 40)) file.git_sha1 = head.etag;
      const std::string etag = header_of(head, "etag");
      if (etag.starts_with('"')) return write_file_atomically(etag_path, std::as_bytes(std::span(etag)));
      fs::remove(etag_path, ignored);
      return {};
    };
    const auto on_body = [&](std::string_view bytes) -> Status {
      if (bytes.size() > limit - part.size())
        return fail(ErrorCode::kCorruption, "{} has more than the {} bytes that were announced", file.name,
                    limit);
      EDGE_INFER_RETURN_IF_ERROR(part.append(bytes));
      progress.file_bytes(part.size());
      return {};
    };
    const Status status = fetcher.get(request, on_head, on_body);
    if (status && range_refused) {
      range_refused = false;
      continue;
    }
    if (status) break;
    if (!fetcher.is_transfer_cut()) return status;
    if (attempt >= options.retries)
      return fail(ErrorCode::kIoError, "{} stopped after {}{} bytes; pull again to go on from there ({})",
                  file.name, part.size(), file.size ? fmt::format(" of {}", *file.size) : "",
                  status.error().message);
    std::this_thread::sleep_for(std::chrono::milliseconds(options.retry_delay_ms << attempt));
  }
  EDGE_INFER_RETURN_IF_ERROR(part.sync());
  if (const Status verified = verify_file(part_path, file); !verified) {
    fs::remove(part_path, ignored);
    fs::remove(etag_path, ignored);
    return verified;
  }
  std::error_code error;
  fs::rename(part_path, target, error);
  if (error)
    return fail(ErrorCode::kIoError, "cannot rename \"{}\": {}", part_path.native(), error.message());
  fs::remove(etag_path, ignored);
  progress.file_end(file.name, part.size());
  return {};
}

}  // namespace edge_infer
