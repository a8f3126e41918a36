// The version of the driver's kernel module, which the driver's API does not tell.
#pragma once

#include <string>
#include <string_view>

namespace edge_infer::cuda {

// "580.159.03" of what /proc/driver/nvidia/version says; empty where there is no such file.
std::string driver_module_version();
// Of the file's text; empty where it names no version.
std::string module_version_of(std::string_view text);

}  // namespace edge_infer::cuda
