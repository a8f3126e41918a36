// Why the system does not let this user have a file, in words: SQLite only says that it cannot open it.
#pragma once

#include <filesystem>

#include "runtime/base/error.h"

namespace edge_infer {

enum class Access { kRead, kWrite };

// kIoError when the file is there and this user may not read it, or write it as well.
Status check_file_access(const std::filesystem::path& file, Access access);

// kIoError when no file can be made in the folder that `file` lies in. A folder that is missing is no matter
// of access.
Status check_folder_access(const std::filesystem::path& file);

}  // namespace edge_infer
