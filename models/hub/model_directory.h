// Where models lie: a directory as given, or one that `edge-infer pull` stored under the model's name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace edge_infer {

// $EDGE_INFER_MODELS, else $XDG_DATA_HOME/edge-infer/models, else ~/.local/share/edge-infer/models; not
// created. Empty when no home is known.
std::filesystem::path models_dir();

// True for "owner/model" or "model": letters, digits, '-', '_', '.', no leading '.', at most 96 characters a
// part.
bool is_model_name(std::string_view name);
// The folder of a pulled model: models_dir()/owner--model. `name` satisfies is_model_name().
std::filesystem::path pulled_model_dir(std::string_view name);

// The directory for `model`: the path itself where it is a directory, else the pulled model of that name.
// Errors: kNotFound (says how to pull), kInvalidArgument (a file, or no possible name).
Result<std::filesystem::path> resolve_model(const std::string& model);

}  // namespace edge_infer
