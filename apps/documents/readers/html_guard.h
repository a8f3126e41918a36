// Bounds what a hostile page can cost an HTML parser, without changing a single offset.
#pragma once

#include <string>
#include <string_view>

namespace edge_infer {

// A copy of `html` of the same length in which spaces replace: attributes of a tag past the 256th (parsers
// compare each with all before), tags that would nest deeper than 400 elements (parsers walk the stack of
// open elements at each tag), and, with `xhtml`, self-closed elements that HTML would leave open as raw text
// (<script/>, <title/>). Linear time.
std::string bound_html(std::string_view html, bool xhtml);

}  // namespace edge_infer
