// Paths and passages as text for people and JSON.
#pragma once

#include <string>
#include <string_view>

namespace edge_infer {

// The path with every byte that is not part of valid UTF-8 written as %XX. A valid path is returned as it is.
std::string path_as_utf8(std::string_view path);

// The same with control characters escaped too (\n as %0A, ...), for a line on a terminal.
std::string path_for_terminal(std::string_view path);

// Text of a document on one line of a terminal, which it must not steer: runs of white space and control
// characters (those of Unicode, not ASCII alone) become one space, marks that turn the direction of writing
// are left out, bytes that are not UTF-8 become U+FFFD. Empty for text that shows nothing.
std::string line_for_terminal(std::string_view text);

}  // namespace edge_infer
