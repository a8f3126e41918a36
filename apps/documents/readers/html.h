// HTML into an open document: shared by the HTML reader, Markdown's raw HTML and EPUB's chapters.
#pragma once

#include <cstddef>

#include "apps/documents/readers/builder.h"

namespace edge_infer {

// Reads text()[at, at + size) of `decoded` as HTML: visible text only, in blocks. The page's <title> becomes
// the document's title where it has none yet. Errors: kResourceExhausted when the parser needs more memory
// than limits.memory_bytes; the builder keeps its own limits.
Status read_html_into(const DecodedText& decoded, size_t at, size_t size, bool xhtml,
                      const ReadLimits& limits, DocumentBuilder& builder);

// "&eacute;" -> "é"; the text itself where it is no entity.
std::string decode_entity(std::string_view text);

}  // namespace edge_infer
