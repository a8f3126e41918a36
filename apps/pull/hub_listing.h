// Asks a hub what a model repository holds.
#pragma once

#include <string>

#include "apps/pull/http_fetch.h"
#include "apps/pull/hub_model.h"
#include "apps/pull/pull_model.h"

namespace edge_infer {

// Asks again while the hub is busy, as `options` allow. Errors: kNotFound (no such model, or not for this
// token), kCorruption (no listing), kIoError, kResourceExhausted (an answer over 32 MB).
Result<HubModel> list_model(HttpFetcher& fetcher, const std::string& endpoint, const std::string& name,
                            const PullOptions& options, PullProgress& progress);

}  // namespace edge_infer
