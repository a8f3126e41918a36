// Where sentences end: what overlap and packing count in.
#pragma once

#include <string_view>
#include <vector>

#include "apps/documents/document.h"

namespace edge_infer {

// The sentences of `text`, ascending, as ranges without the white space between them; every other byte is in
// one. With `by_line` (code, tables) each line is one. Ends are . ! ? and their CJK forms before white space
// that no lower-case letter follows, empty lines, and lines that begin a list item; common abbreviations and
// initials end nothing. Linear time, any bytes.
void split_sentences(std::string_view text, bool by_line, std::vector<ByteRange>& out);

}  // namespace edge_infer
