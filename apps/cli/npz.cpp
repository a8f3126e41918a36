#include "apps/cli/npz.h"

#include <zip.h>

#include <memory>
#include <set>

#include "runtime/base/mapped_file.h"

namespace edge_infer {
namespace {

constexpr std::string_view kSuffix = ".npy";

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

std::string message(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

Result<std::string> read_member(zip_t* archive, zip_int64_t index, const std::filesystem::path& path,
                                int64_t& left) {
  zip_stat_t stat;
  if (zip_stat_index(archive, static_cast<zip_uint64_t>(index), 0, &stat) != 0 ||
      (stat.valid & ZIP_STAT_SIZE) == 0)
    return fail(ErrorCode::kCorruption, "\"{}\": member {} cannot be read", path.native(), index);
  if (stat.size > static_cast<zip_uint64_t>(left))
    return fail(ErrorCode::kResourceExhausted, "\"{}\": member {} of {} bytes exceeds the limit",
                path.native(), stat.name, stat.size);
  const std::unique_ptr<zip_file_t, CloseMember> file(
      zip_fopen_index(archive, static_cast<zip_uint64_t>(index), 0));
  if (!file)
    return fail(ErrorCode::kCorruption, "\"{}\": member {}: {}", path.native(), stat.name,
                zip_strerror(archive));
  // Grown as data arrives: the stated size may lie.
  std::string content;
  char buffer[65536];
  while (content.size() < stat.size) {
    const zip_int64_t n =
        zip_fread(file.get(), buffer, std::min<zip_uint64_t>(sizeof buffer, stat.size - content.size()));
    if (n <= 0)
      return fail(ErrorCode::kCorruption, "\"{}\": member {} is cut or damaged", path.native(), stat.name);
    content.append(buffer, static_cast<size_t>(n));
  }
  // The end of the data is where the checksum is compared.
  if (zip_fread(file.get(), buffer, 1) != 0)
    return fail(ErrorCode::kCorruption, "\"{}\": member {} is damaged", path.native(), stat.name);
  left -= static_cast<int64_t>(content.size());
  return content;
}

}  // namespace

Result<TensorMap> read_npz(const std::filesystem::path& path, int64_t limit_bytes) {
  EDGE_INFER_RETURN_IF_ERROR(stamp_file(path));
  int code = 0;
  const std::unique_ptr<zip_t, CloseArchive> archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive)
    return fail(ErrorCode::kCorruption, "\"{}\" is no .npz archive: {}", path.native(), message(code));
  TensorMap tensors;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* raw = zip_get_name(archive.get(), static_cast<zip_uint64_t>(i), 0);
    std::string name = raw != nullptr ? raw : "";
    if (!name.ends_with(kSuffix))
      return fail(ErrorCode::kCorruption, "\"{}\": member \"{}\" is no .npy", path.native(), name);
    name.resize(name.size() - kSuffix.size());
    EDGE_INFER_ASSIGN(const std::string content, read_member(archive.get(), i, path, limit_bytes));
    auto tensor = parse_npy(content, name);
    if (!tensor) return fail_with_context(tensor.error(), "\"" + path.native() + "\"");
    tensors.insert_or_assign(std::move(name), *std::move(tensor));
  }
  return tensors;
}

Status write_npz(const std::filesystem::path& path,
                 const std::vector<std::pair<std::string, HostTensor>>& tensors) {
  std::set<std::string> names;
  std::vector<std::string> contents;  // libzip reads them when it closes
  int code = 0;
  std::unique_ptr<zip_t, CloseArchive> archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (!archive) return fail(ErrorCode::kIoError, "cannot write \"{}\": {}", path.native(), message(code));
  contents.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    if (!names.insert(name).second)
      return fail(ErrorCode::kInvalidArgument, "\"{}\": two arrays are named \"{}\"", path.native(), name);
    contents.push_back(make_npy(tensor));
    zip_source_t* source =
        zip_source_buffer(archive.get(), contents.back().data(), contents.back().size(), 0);
    if (source == nullptr ||
        zip_file_add(archive.get(), (name + std::string(kSuffix)).c_str(), source, ZIP_FL_ENC_UTF_8) < 0) {
      zip_source_free(source);
      return fail(ErrorCode::kIoError, "cannot write \"{}\": {}", path.native(), zip_strerror(archive.get()));
    }
  }
  if (zip_close(archive.get()) != 0)
    return fail(ErrorCode::kIoError, "cannot write \"{}\": {}", path.native(), zip_strerror(archive.get()));
  (void)archive.release();  // closed
  return {};
}

}  // namespace edge_infer
