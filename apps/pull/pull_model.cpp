#include "apps/pull/pull_model.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/pull/file_download.h"
#include "apps/pull/http_fetch.h"
#include "apps/pull/hub_model.h"
#include "models/hub/model_directory.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/paths.h"

namespace edge_infer {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxAnswerBytes = size_t{32} << 20;
constexpr uint64_t kSpareDiskBytes = uint64_t{64} << 20;
constexpr const char* kManifest =
    ".edge-infer-pull.json";                        // in a pulled model's folder: what it was made from
constexpr const char* kRevisionFile = ".revision";  // in the folder of an unfinished pull

// Held for the whole pull; the file stays, since removing it would let two pulls hold two different ones.
class PullLock {
 public:
  static Result<PullLock> take(const fs::path& path, const std::string& name) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0)
      return fail(ErrorCode::kIoError, "cannot write \"{}\": {}", path.native(), std::strerror(errno));
    PullLock lock(descriptor);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0)
      return fail(ErrorCode::kResourceExhausted, "another pull of \"{}\" is running", name);
    return lock;
  }
  PullLock(PullLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  PullLock& operator=(PullLock&&) = delete;
  ~PullLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  explicit PullLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

Result<std::string> fetch_text(HttpFetcher& fetcher, const std::string& url, int& status) {
  std::string text;
  EDGE_INFER_RETURN_IF_ERROR(fetcher.get(
      {url, {}},
      [&](const FetchHead& head) -> Status {
        status = head.status;
        return {};
      },
      [&](std::string_view bytes) -> Status {
        if (text.size() + bytes.size() > kMaxAnswerBytes)
          return fail(ErrorCode::kResourceExhausted, "the answer of {} has more than {} bytes", url,
                      kMaxAnswerBytes);
        text += bytes;
        return {};
      }));
  return text;
}

Result<HubModel> list_model(HttpFetcher& fetcher, const std::string& endpoint, const std::string& name) {
  int status = 0;
  EDGE_INFER_ASSIGN(const std::string text,
                    fetch_text(fetcher, endpoint + "/api/models/" + name + "?blobs=true", status));
  if (status == 404) return fail(ErrorCode::kNotFound, "no model \"{}\" at {}", name, endpoint);
  if (status == 401 || status == 403)
    return fail(ErrorCode::kNotFound, "no model \"{}\" at {}, or it is private or gated: then set $HF_TOKEN",
                name, endpoint);
  if (status != 200)
    return fail(ErrorCode::kIoError, "{} answers with status {}, expected 200", endpoint, status);
  return parse_hub_model(text, name);
}

std::string manifest_revision(const fs::path& dir) {
  const auto text = read_file(dir / kManifest, kMaxAnswerBytes);
  if (!text) return {};
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  const auto found = json.is_object() ? json.find("revision") : json.end();
  return json.is_object() && found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

Status check_space(const fs::path& dir, uint64_t wanted) {
  std::error_code error;
  const fs::space_info space = fs::space(dir, error);
  if (error) return {};
  if (space.available < wanted || space.available - wanted < kSpareDiskBytes)
    return fail(ErrorCode::kResourceExhausted, "\"{}\" has {} MB free, {} MB are needed", dir.native(),
                space.available >> 20, (wanted + kSpareDiskBytes) >> 20);
  return {};
}

// The folder of the unfinished pull, emptied when it was of another revision.
Status prepare_staging(const fs::path& staging, const std::string& revision) {
  std::error_code error;
  const auto kept = read_file(staging / kRevisionFile, 256);
  if (!kept || *kept != revision || revision == "main") fs::remove_all(staging, error);
  EDGE_INFER_RETURN_IF_ERROR(ensure_private_dir(staging));
  return write_file_atomically(staging / kRevisionFile, std::as_bytes(std::span(revision)));
}

uint64_t missing_bytes(const std::vector<HubFile>& files, const fs::path& staging) {
  uint64_t missing = 0;
  for (const HubFile& file : files) {
    std::error_code error;
    uint64_t have = fs::file_size(staging / file.name, error);
    if (error) have = fs::file_size((staging / file.name).native() + ".part", error);
    if (error) have = 0;
    missing += file.size.value_or(0) - std::min(have, file.size.value_or(0));
  }
  return missing;
}

Status write_manifest(const fs::path& staging, const std::string& name, const std::string& endpoint,
                      const HubModel& model, const std::vector<HubFile>& files) {
  nlohmann::json manifest = {{"name", name}, {"endpoint", endpoint}, {"revision", model.revision}};
  for (const HubFile& file : files)
    manifest["files"].push_back({{"name", file.name}, {"sha256", file.sha256}, {"git_sha1", file.git_sha1}});
  const std::string text = manifest.dump(1) + "\n";
  return write_file_atomically(staging / kManifest, std::as_bytes(std::span(text)));
}

void sync_folder(const fs::path& dir) {
  const int descriptor = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

// Gives the finished folder the model's name. Programs that run on an older one keep its files until they
// end.
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

Status check_shards(const fs::path& staging, const std::vector<HubFile>& files) {
  const fs::path index = staging / "model.safetensors.index.json";
  std::error_code error;
  if (!fs::exists(index, error)) return {};
  EDGE_INFER_ASSIGN(const std::string text, read_file(index, kMaxAnswerBytes));
  EDGE_INFER_ASSIGN(const std::vector<std::string> shards, index_shards(text));
  for (const std::string& shard : shards)
    if (std::none_of(files.begin(), files.end(), [&](const HubFile& file) { return file.name == shard; }))
      return fail(ErrorCode::kCorruption,
                  "model.safetensors.index.json names {}, which the hub does not have", shard);
  return {};
}

}  // namespace

Result<PulledModel> pull_model(const std::string& name, const PullOptions& options, PullProgress& progress) {
  // "--" separates owner and model in the folder's name; ".." never means anything good.
  if (!is_model_name(name) || name.find("--") != std::string::npos || name.find("..") != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "\"{}\" is no model name, expected OWNER/MODEL", name);
  std::string endpoint = options.endpoint;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  EDGE_INFER_ASSIGN(const auto fetcher, HttpFetcher::create(endpoint, options.token));
  if (options.models_dir.empty())
    return fail(ErrorCode::kInvalidArgument,
                "no models directory: neither $EDGE_INFER_MODELS nor $HOME is set");
  EDGE_INFER_RETURN_IF_ERROR(ensure_private_dir(options.models_dir));
  std::string folder = name;
  std::replace(folder.begin(), folder.end(), '/', '-');
  if (const size_t slash = name.find('/'); slash != std::string::npos) folder.insert(slash, 1, '-');
  const fs::path target = options.models_dir / folder,
                 staging = options.models_dir / ("." + folder + ".partial");
  EDGE_INFER_ASSIGN(const PullLock lock, PullLock::take(options.models_dir / ("." + folder + ".lock"), name));

  EDGE_INFER_ASSIGN(const HubModel model, list_model(*fetcher, endpoint, name));
  std::error_code error;
  if (fs::exists(target, error)) {
    const std::string present = manifest_revision(target);
    if (present.empty())
      return fail(ErrorCode::kInvalidArgument, "\"{}\" exists and was not made by pull; move it away first",
                  target.native());
    if (present == model.revision && present != "main") return PulledModel{target, present, true};
  }
  EDGE_INFER_ASSIGN(std::vector<HubFile> files, choose_files(model, name, options.size_limit));
  EDGE_INFER_RETURN_IF_ERROR(prepare_staging(staging, model.revision));
  EDGE_INFER_RETURN_IF_ERROR(check_space(staging, missing_bytes(files, staging)));
  uint64_t total = 0;
  for (const HubFile& file : files) total += file.size.value_or(0);
  progress.start(name, files.size(), total);
  uint64_t left = options.size_limit;
  for (HubFile& file : files) {
    PullOptions file_options = options;
    file_options.size_limit = left;
    EDGE_INFER_RETURN_IF_ERROR(
        download_file(*fetcher, endpoint + "/" + name + "/resolve/" + model.revision + "/" + file.name, file,
                      staging / file.name, file_options, progress));
    left -= std::min<uint64_t>(left, fs::file_size(staging / file.name, error));
    // Known before the weights begin: the configs come first.
    if (file.name == "model.safetensors.index.json") EDGE_INFER_RETURN_IF_ERROR(check_shards(staging, files));
  }
  EDGE_INFER_RETURN_IF_ERROR(write_manifest(staging, name, endpoint, model, files));
  EDGE_INFER_RETURN_IF_ERROR(publish(staging, target));
  return PulledModel{target, model.revision, false};
}

}  // namespace edge_infer
