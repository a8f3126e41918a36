// Paths as text for people and JSON.
#pragma once

#include <string>
#include <string_view>

namespace edge_infer {

// The path with every byte that is not part of valid UTF-8 written as %XX. A valid path is returned as it is.
std::string path_as_utf8(std::string_view path);

// The same with control characters escaped too (\n as %0A, ...), for a line on a terminal.
std::string path_for_terminal(std::string_view path);

}  // namespace edge_infer
