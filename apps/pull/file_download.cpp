#include "apps/pull/file_download.h"

#include <span>
#include <utility>

#include "apps/pull/checksum.h"
#include "apps/pull/part_file.h"
#include "apps/pull/retries.h"
#include "runtime/base/mapped_file.h"

namespace edge_infer {
namespace fs = std::filesystem;
namespace {

// "bytes 100-199/200" begins at `begin`.
bool range_begins_at(const std::string& content_range, uint64_t begin) {
  return content_range.starts_with(fmt::format("bytes {}-", begin));
}

std::string header_of(const FetchHead& head, const char* name) {
  const auto found = head.headers.find(name);
  return found == head.headers.end() ? "" : found->second;
}

// Fills the part file until it is whole as far as sizes tell.
class Download {
 public:
  Download(HttpFetcher& fetcher, const std::string& url, HubFile& file, PartFile& part, fs::path etag_path,
           const PullOptions& options, PullProgress& progress)
      : fetcher_(fetcher),
        url_(url),
        file_(file),
        part_(part),
        etag_path_(std::move(etag_path)),
        options_(options),
        progress_(progress) {}

  Status run() {
    if (file_.size && part_.size() > *file_.size) EDGE_INFER_RETURN_IF_ERROR(part_.clear());
    progress_.file_start(file_.name, file_.size.value_or(0), part_.size());
    Retries retries(options_, progress_);
    while (part_.size() == 0 || part_.size() != file_.size) {
      const Status status = ask();
      if (starts_over_) {
        EDGE_INFER_RETURN_IF_ERROR(part_.clear());
        continue;
      }
      if (status && !is_cut_silently()) return {};
      if (!status && !is_busy_ && !fetcher_.is_transfer_cut()) return status;
      const std::string why = status ? "the connection ended" : status.error().message;
      if (!retries.wait(fmt::format("{}: {}", file_.name, why), head_.retry_after_s))
        return fail(ErrorCode::kIoError, "{} stopped after {}{} bytes; pull again to go on from there ({})",
                    file_.name, part_.size(), file_.size ? fmt::format(" of {}", *file_.size) : "", why);
    }
    return {};
  }

 private:
  Status ask() {
    starts_over_ = is_busy_ = false;
    head_ = {};
    begin_ = part_.size();
    FetchRequest request{url_, {}};
    if (begin_ > 0) {
      request.headers["Range"] = fmt::format("bytes={}-", begin_);
      if (const auto etag = read_file(etag_path_, 1024); etag && !etag->empty())
        request.headers["If-Range"] = *etag;
    }
    return fetcher_.get(
        request, [this](const FetchHead& head) { return begin_body(head); },
        [this](std::string_view bytes) { return append(bytes); });
  }

  Status begin_body(const FetchHead& head) {
    head_ = head;
    const std::string range = header_of(head, "content-range");
    const bool is_wrong_range = head.status == 206 && !range_begins_at(range, begin_);
    // Only a request for a part starts over, so that the next one, for the whole, cannot come here again.
    starts_over_ = begin_ > 0 && (head.status == 416 || is_wrong_range);
    if (starts_over_ || is_wrong_range)
      return fail(ErrorCode::kIoError, "{}: asked for bytes from {}, the server sends \"{}\"", file_.name,
                  begin_, range.substr(0, 60));
    if (head.status != 200 && head.status != 206) return status_error(head);
    if (head.status == 200 && begin_ > 0) EDGE_INFER_RETURN_IF_ERROR(part_.clear());
    if (file_.sha256.empty() && is_hex(head.linked_etag, 64)) file_.sha256 = head.linked_etag;
    if (!has_checksum(file_) && is_hex(head.etag, 40)) file_.git_sha1 = head.etag;
    if (!file_.size && !has_checksum(file_) && !head.has_end)
      return fail(ErrorCode::kUnsupported,
                  "{}: the hub gives neither its size nor a checksum, and its answer has no length: a file "
                  "that is cut could not be told from a whole one",
                  file_.name);
    const std::string etag = header_of(head, "etag");
    if (etag.starts_with('"')) return write_file_atomically(etag_path_, std::as_bytes(std::span(etag)));
    std::error_code ignored;
    fs::remove(etag_path_, ignored);
    return {};
  }

  Status status_error(const FetchHead& head) {
    is_busy_ = is_passing_status(head.status);
    if (is_busy_) return fail(ErrorCode::kIoError, "the hub answers with {}", describe_passing(head));
    if (head.status == 404)
      return fail(ErrorCode::kNotFound, "{} is not there: {} answers 404", file_.name, url_);
    if (head.status == 401 || head.status == 403)
      return fail(ErrorCode::kIoError, "{} may not be read (status {}): for a gated model set $HF_TOKEN",
                  file_.name, head.status);
    return fail(ErrorCode::kIoError, "{} cannot be fetched: {} answers with status {}", file_.name, url_,
                head.status);
  }

  Status append(std::string_view bytes) {
    const uint64_t limit = file_.size.value_or(options_.size_limit);
    if (bytes.size() > limit - part_.size()) {
      EDGE_INFER_RETURN_IF_ERROR(part_.clear());
      return fail(ErrorCode::kCorruption, "{} has more than the {} bytes that were announced", file_.name,
                  limit);
    }
    EDGE_INFER_RETURN_IF_ERROR(part_.append(bytes));
    progress_.file_bytes(part_.size());
    return {};
  }

  // The answer ended without an error but too early, and did not say that this is all.
  bool is_cut_silently() const {
    return file_.size && part_.size() < *file_.size && (head_.status == 206 || !head_.has_end);
  }

  HttpFetcher& fetcher_;
  const std::string& url_;
  HubFile& file_;
  PartFile& part_;
  const fs::path etag_path_;
  const PullOptions& options_;
  PullProgress& progress_;
  FetchHead head_;      // of the last answer
  uint64_t begin_ = 0;  // where the last request began
  bool starts_over_ = false, is_busy_ = false;
};

}  // namespace

Status download_file(HttpFetcher& fetcher, const std::string& url, HubFile& file, const fs::path& target,
                     const PullOptions& options, PullProgress& progress) {
  const fs::path part_path = target.native() + ".part", etag_path = target.native() + ".part.etag";
  std::error_code ignored;
  fs::create_directories(target.parent_path(), ignored);
  if (fs::exists(target, ignored)) {
    // Of an earlier, interrupted pull of the same revision.
    if (has_checksum(file) && verify_file(target, file))
      return progress.file_end(file.name, fs::file_size(target, ignored)), Status();
    fs::remove(target, ignored);
  }
  EDGE_INFER_ASSIGN(PartFile part, PartFile::open(part_path));
  EDGE_INFER_RETURN_IF_ERROR(Download(fetcher, url, file, part, etag_path, options, progress).run());
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
