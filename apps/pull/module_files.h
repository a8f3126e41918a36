// Says, once modules.json is there and before any weights are fetched, whether the model will be whole.
#pragma once

#include <filesystem>
#include <string>

#include "apps/pull/hub_model.h"
#include "runtime/base/error.h"

namespace edge_infer {

// Checks that the hub has, and pull fetches, the files of every module that dir/modules.json names; nothing
// to check where there is none. Errors: kUnsupported (names the missing file, and the pickle in its place),
// kCorruption (a modules.json that is none).
Status check_module_files(const std::filesystem::path& dir, const HubModel& model, const std::string& name);

// The same for the shards of dir/model.safetensors.index.json. Errors: kCorruption.
Status check_shards(const std::filesystem::path& dir, const HubModel& model);

}  // namespace edge_infer
