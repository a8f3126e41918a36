// Folders of the user that the runtime writes to.
#pragma once

#include <filesystem>

#include "runtime/base/error.h"

namespace edge_infer {

// $EDGE_INFER_CACHE, else $XDG_CACHE_HOME/edge-infer where that is absolute, else ~/.cache/edge-infer; not
// created. Empty when no home is known.
std::filesystem::path default_cache_dir();

// Creates `dir` (mode 0700) with its parents where missing and checks that it is writable and owned by this
// user. Errors: kIoError with the reason.
Status ensure_private_dir(const std::filesystem::path& dir);

// The folder of the running program's or library's own file (where helper programs are looked for).
std::filesystem::path own_folder();

}  // namespace edge_infer
