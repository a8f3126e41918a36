#include "apps/pull/pulled_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/pull/checksum.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/paths.h"

namespace edge_infer {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxManifestBytes = size_t{32} << 20;
constexpr const char* kManifest = ".edge-infer-pull.json";
constexpr const char* kRevisionFile = ".revision";  // in the folder of an unfinished pull

std::string text_member(const nlohmann::json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

void sync_folder(const fs::path& dir) {
  const int descriptor = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

std::optional<Manifest> read_manifest(const fs::path& dir) {
  const auto text = read_file(dir / kManifest, kMaxManifestBytes);
  if (!text) return std::nullopt;
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  Manifest manifest;
  manifest.revision = text_member(json, "revision");
  if (manifest.revision.empty()) return std::nullopt;
  const auto files = json.find("files");
  if (files == json.end() || !files->is_array()) return manifest;
  for (const auto& entry : *files) {
    HubFile file;
    file.name = text_member(entry, "name");
    if (const auto sum = text_member(entry, "sha256"); is_hex(sum, 64)) file.sha256 = sum;
    if (const auto sum = text_member(entry, "git_sha1"); is_hex(sum, 40)) file.git_sha1 = sum;
    if (entry.is_object() && entry.contains("size") && entry["size"].is_number_unsigned())
      file.size = entry["size"].get<uint64_t>();
    manifest.files.push_back(std::move(file));
  }
  return manifest;
}

Status write_manifest(const fs::path& dir, const std::string& name, const std::string& endpoint,
                      const std::string& revision, std::vector<HubFile> files) {
  nlohmann::json manifest = {{"name", name}, {"endpoint", endpoint}, {"revision", revision}};
  for (HubFile& file : files) {
    std::error_code error;
    file.size = fs::file_size(dir / file.name, error);
    if (error)
      return fail(ErrorCode::kIoError, "cannot read \"{}\": {}", (dir / file.name).native(), error.message());
    if (file.sha256.empty() && file.git_sha1.empty()) {
      EDGE_INFER_ASSIGN(file.sha256, file_sha256(dir / file.name));
    }
    manifest["files"].push_back(
        {{"name", file.name}, {"size", *file.size}, {"sha256", file.sha256}, {"git_sha1", file.git_sha1}});
  }
  const std::string text = manifest.dump(1) + "\n";
  return write_file_atomically(dir / kManifest, std::as_bytes(std::span(text)));
}

bool lists_files(const Manifest& manifest, std::span<const HubFile> files) {
  std::set<std::string> listed, wanted;
  for (const HubFile& file : manifest.files) listed.insert(file.name);
  for (const HubFile& file : files) wanted.insert(file.name);
  return listed == wanted;
}

bool is_intact(const fs::path& dir, HubFile& file, const Manifest* recorded) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(dir / file.name, error))) return false;
  HubFile known = file;
  if (recorded != nullptr) {
    const auto found = std::ranges::find(recorded->files, file.name, &HubFile::name);
    if (found != recorded->files.end()) {
      if (!known.size) known.size = found->size;
      if (known.sha256.empty() && known.git_sha1.empty()) {
        known.sha256 = found->sha256;
        known.git_sha1 = found->git_sha1;
      }
    }
  }
  if (!has_checksum(known) || !verify_file(dir / known.name, known)) return false;
  file = std::move(known);
  return true;
}

Status take_over(const fs::path& from, const fs::path& to, const std::string& name) {
  std::error_code error;
  fs::create_directories((to / name).parent_path(), error);
  fs::remove(to / name, error);
  fs::create_hard_link(from / name, to / name, error);
  if (error) fs::copy_file(from / name, to / name, error);
  if (error)
    return fail(ErrorCode::kIoError, "cannot copy \"{}\" to \"{}\": {}", (from / name).native(), to.native(),
                error.message());
  return {};
}

Status prepare_staging(const fs::path& staging, const std::string& revision) {
  std::error_code error;
  const auto kept = read_file(staging / kRevisionFile, 256);
  if (!kept || *kept != revision || revision == kUnknownRevision) fs::remove_all(staging, error);
  EDGE_INFER_RETURN_IF_ERROR(ensure_private_dir(staging));
  return write_file_atomically(staging / kRevisionFile, std::as_bytes(std::span(revision)));
}

Status publish(const fs::path& staging, const fs::path& target) {
  std::error_code error;
  fs::remove(staging / kRevisionFile, error);
  sync_folder(staging);
  const bool replaces = fs::exists(target, error);
  const unsigned flags = replaces ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, staging.c_str(), AT_FDCWD, target.c_str(), flags) != 0) {
    // File systems without these flags.
    const fs::path old = staging.native() + ".old";
    if (replaces) fs::rename(target, old, error);
    fs::rename(staging, target, error);
    if (error) {
      const std::string reason = error.message();
      if (replaces) fs::rename(old, target, error);
      return fail(ErrorCode::kIoError, "cannot rename \"{}\" to \"{}\": {}", staging.native(),
                  target.native(), reason);
    }
    fs::remove_all(old, error);
  } else if (replaces) {
    fs::remove_all(staging, error);
  }
  sync_folder(target.parent_path());
  return {};
}

}  // namespace edge_infer
