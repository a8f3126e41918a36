#include "apps/pull/pull_model.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "apps/pull/file_download.h"
#include "apps/pull/http_fetch.h"
#include "apps/pull/hub_listing.h"
#include "apps/pull/hub_model.h"
#include "apps/pull/module_files.h"
#include "apps/pull/pull_lock.h"
#include "apps/pull/pulled_folder.h"
#include "models/hub/model_directory.h"
#include "runtime/base/paths.h"

namespace edge_infer {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kSpareDiskBytes = uint64_t{64} << 20;

Status check_space(const fs::path& dir, uint64_t wanted) {
  std::error_code error;
  const fs::space_info space = fs::space(dir, error);
  if (error) return {};
  if (space.available < wanted || space.available - wanted < kSpareDiskBytes)
    return fail(ErrorCode::kResourceExhausted, "\"{}\" has {} MB free, {} MB are needed", dir.native(),
                space.available >> 20, (wanted + kSpareDiskBytes) >> 20);
  return {};
}

uint64_t missing_bytes(std::span<const HubFile> files, const fs::path& staging) {
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

// One pull from the listing to the published folder; the caller holds the model's lock.
class Pull {
 public:
  Pull(HttpFetcher& fetcher, std::string endpoint, const std::string& name, const PullOptions& options,
       PullProgress& progress)
      : fetcher_(fetcher),
        endpoint_(std::move(endpoint)),
        name_(name),
        options_(options),
        progress_(progress),
        size_left_(options.size_limit) {}

  Result<PulledModel> run(const fs::path& target, const fs::path& staging) {
    EDGE_INFER_ASSIGN(model_, list_model(fetcher_, endpoint_, name_, options_, progress_));
    EDGE_INFER_ASSIGN(std::vector<HubFile> files, choose_files(model_, name_, options_.size_limit));
    const auto present = read_manifest(target);
    std::error_code error;
    if (!present && fs::exists(target, error))
      return fail(ErrorCode::kInvalidArgument, "\"{}\" exists and was not made by pull; move it away first",
                  target.native());
    if (present) keep_intact(target, *present, files);
    if (present && files.empty() && present->revision == model_.revision && lists_files(*present, kept_))
      return PulledModel{target, model_.revision, true};

    EDGE_INFER_RETURN_IF_ERROR(prepare_staging(staging, model_.revision));
    for (const HubFile& file : kept_) EDGE_INFER_RETURN_IF_ERROR(take_over(target, staging, file.name));
    EDGE_INFER_RETURN_IF_ERROR(fetch_all(files, staging));
    std::move(kept_.begin(), kept_.end(), std::back_inserter(files));
    EDGE_INFER_RETURN_IF_ERROR(write_manifest(staging, name_, endpoint_, model_.revision, std::move(files)));
    EDGE_INFER_RETURN_IF_ERROR(publish(staging, target));
    return PulledModel{target, model_.revision, false};
  }

 private:
  // Moves what the present folder already has from `files` to kept_.
  void keep_intact(const fs::path& target, const Manifest& present, std::vector<HubFile>& files) {
    const bool same_revision = present.revision == model_.revision && present.revision != kUnknownRevision;
    std::vector<HubFile> wanted;
    for (HubFile& file : files)
      (is_intact(target, file, same_revision ? &present : nullptr) ? kept_ : wanted).push_back(file);
    files = std::move(wanted);
  }

  Status fetch_all(std::vector<HubFile>& files, const fs::path& staging) {
    EDGE_INFER_RETURN_IF_ERROR(check_space(staging, missing_bytes(files, staging)));
    uint64_t total = 0;
    for (const HubFile& file : files) total += file.size.value_or(0);
    progress_.start(name_, files.size(), total);
    const auto weights =
        std::ranges::find_if(files, [](const HubFile& file) { return is_weights(file.name); });
    EDGE_INFER_RETURN_IF_ERROR(fetch({files.begin(), weights}, staging));
    Status complete = check_module_files(staging, model_, name_);
    if (complete) complete = check_shards(staging, model_);
    if (!complete) {
      std::error_code error;
      fs::remove_all(staging, error);
      return complete;
    }
    return fetch({weights, files.end()}, staging);
  }

  Status fetch(std::span<HubFile> files, const fs::path& staging) {
    for (HubFile& file : files) {
      PullOptions file_options = options_;
      file_options.size_limit = size_left_;
      EDGE_INFER_RETURN_IF_ERROR(
          download_file(fetcher_, endpoint_ + "/" + name_ + "/resolve/" + model_.revision + "/" + file.name,
                        file, staging / file.name, file_options, progress_));
      std::error_code error;
      size_left_ -= std::min<uint64_t>(size_left_, fs::file_size(staging / file.name, error));
    }
    return {};
  }

  HttpFetcher& fetcher_;
  const std::string endpoint_;
  const std::string& name_;
  const PullOptions& options_;
  PullProgress& progress_;
  HubModel model_;
  std::vector<HubFile> kept_;
  uint64_t size_left_;
};

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
  if (const size_t slash = name.find('/'); slash != std::string::npos) folder.replace(slash, 1, "--");
  const fs::path target = options.models_dir / folder;
  const fs::path staging = options.models_dir / ("." + folder + ".partial");
  EDGE_INFER_ASSIGN(const PullLock lock, PullLock::take(options.models_dir / ("." + folder + ".lock"), name));
  return Pull(*fetcher, endpoint, name, options, progress).run(target, staging);
}

}  // namespace edge_infer
