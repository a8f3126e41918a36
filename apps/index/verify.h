// Looking over a whole index file: whether its tables agree with each other, and what it holds in a form that
// does not depend on how it came about.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/base/error.h"

namespace edge_infer {

// Checks SQLite's own structure, the word index against the passages, reference counts, slots and bitmaps.
// Errors: kCorruption naming the first disagreement; those of open_index.
Status verify_index(const std::filesystem::path& path);

// Every file (path, status, reason, content hash) with its passages (place, text, vector bits), in order of
// path: equal for two indexes of the same files, whatever runs, kills and orders made them. Stamps and row
// numbers are left out.
Result<std::string> dump_index(const std::filesystem::path& path);

}  // namespace edge_infer
