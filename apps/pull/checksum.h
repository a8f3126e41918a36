// Checksums of files on disk.
#pragma once

#include <filesystem>
#include <string>

#include "apps/pull/hub_model.h"
#include "runtime/base/error.h"

namespace edge_infer {

// Lower-case hexadecimal. git's blob id is the SHA-1 of "blob SIZE\0" and the content.
Result<std::string> file_sha256(const std::filesystem::path& path);
Result<std::string> file_git_sha1(const std::filesystem::path& path);

// Compares size and checksum with what the hub said, as far as it said. Errors: kCorruption with both values.
Status verify_file(const std::filesystem::path& path, const HubFile& file);

}  // namespace edge_infer
