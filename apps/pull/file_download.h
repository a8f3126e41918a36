// One file from the hub to disk: resumes a partial file, retries a cut transfer, verifies, renames.
#pragma once

#include <filesystem>
#include <string>

#include "apps/pull/http_fetch.h"
#include "apps/pull/hub_model.h"
#include "apps/pull/pull_model.h"

namespace edge_infer {

// After success `target` holds the verified content. Until then it is in `target`.part, beside its ETag in
// `target`.part.etag. A file that fails its check is removed; what a server does not continue as asked starts
// over. A checksum that `file` lacks and the answer's headers have is put into it. A file with neither size
// nor checksum is taken only from an answer whose end is marked (else kUnsupported).
Status download_file(HttpFetcher& fetcher, const std::string& url, HubFile& file,
                     const std::filesystem::path& target, const PullOptions& options, PullProgress& progress);

}  // namespace edge_infer
