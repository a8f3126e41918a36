#include "apps/documents/readers/zip_parts.h"

#include <zip.h>

#include <algorithm>

namespace edge_infer {
namespace {

constexpr zip_int64_t kMaxEntries = 20'000;
constexpr int64_t kRatio = 200;                    // inflated : stored; XML of Office files stays below 60
constexpr int64_t kRatioFloor = int64_t{8} << 20;  // parts up to this size may have any ratio

struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

}  // namespace

struct ZipParts::Archive {
  zip_t* zip = nullptr;
  ~Archive() {
    if (zip != nullptr) zip_discard(zip);
  }
};

ZipParts::ZipParts() : archive_(std::make_unique<Archive>()) {}
ZipParts::~ZipParts() = default;

Result<std::unique_ptr<ZipParts>> ZipParts::open(std::string_view source, const ReadLimits& limits) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* data = zip_source_buffer_create(source.data(), source.size(), 0, &error);
  if (data == nullptr) return fail(ErrorCode::kResourceExhausted, "cannot read the archive: out of memory");
  std::unique_ptr<ZipParts> parts(new ZipParts);
  parts->archive_->zip = zip_open_from_source(data, ZIP_RDONLY, &error);
  if (parts->archive_->zip == nullptr) {
    auto failed = fail(ErrorCode::kCorruption, "broken zip archive: {}", zip_error_strerror(&error));
    zip_source_free(data);
    zip_error_fini(&error);
    return failed;
  }
  zip_t* zip = parts->archive_->zip;
  const zip_int64_t count = zip_get_num_entries(zip, 0);
  if (count > kMaxEntries)
    return fail(ErrorCode::kResourceExhausted, "the archive has {} entries, more than {}", count,
                kMaxEntries);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = zip_get_name(zip, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_GUESS);
    if (name != nullptr) parts->entries_.emplace(name, static_cast<uint64_t>(i));
  }
  if (parts->entries_.empty()) return fail(ErrorCode::kCorruption, "the zip archive has no entries");
  parts->left_ = 4 * limits.text_bytes;
  return parts;
}

Result<std::string> ZipParts::read(const std::string& name) {
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return fail(ErrorCode::kCorruption, "the archive has no \"{}\"", name);
  zip_t* zip = archive_->zip;
  zip_stat_t stat;
  zip_stat_init(&stat);
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
  if (zip_stat_index(zip, entry->second, 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded)
    return fail(ErrorCode::kCorruption, "\"{}\": {}", name, zip_strerror(zip));
  if ((stat.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && stat.encryption_method != ZIP_EM_NONE)
    return fail(ErrorCode::kInvalidArgument, "encrypted: \"{}\" needs a password", name);
  // The stated sizes may lie, so what is inflated is counted as well.
  const auto stored = static_cast<int64_t>(std::min<zip_uint64_t>(stat.comp_size, zip_uint64_t{1} << 40));
  const int64_t limit = std::min(left_, std::max(kRatioFloor, stored * kRatio));
  const auto bomb = [&] {
    return fail(ErrorCode::kResourceExhausted, "\"{}\" expands from {} to more than {} bytes", name, stored,
                limit);
  };
  if (stat.size > static_cast<zip_uint64_t>(limit)) return bomb();
  const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(zip, entry->second, 0));
  if (file == nullptr) return fail(ErrorCode::kCorruption, "\"{}\": {}", name, zip_strerror(zip));
  std::string out;
  out.reserve(static_cast<size_t>(std::min<zip_uint64_t>(stat.size, 1 << 20)));
  char buffer[32768];
  while (true) {
    const zip_int64_t n = zip_fread(file.get(), buffer, sizeof buffer);
    if (n < 0) return fail(ErrorCode::kCorruption, "\"{}\": {}", name, zip_file_strerror(file.get()));
    if (n == 0) break;
    out.append(buffer, static_cast<size_t>(n));
    if (static_cast<int64_t>(out.size()) > limit) return bomb();
  }
  left_ -= static_cast<int64_t>(out.size());
  return out;
}

}  // namespace edge_infer
