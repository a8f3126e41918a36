// What edge-infer-read writes to its pipe, once: a document or an error, in a framed binary form. The parent
// does not trust the child (it has parsed hostile bytes), so decoding checks every length, offset,
// enumeration and character.
//
//   answer   = "EIR1" flags:byte kind:byte body "END."
//   flags    = 1: seccomp was on, 2: Landlock was on
//   kind 0   = document: format title note count blocks      kind 1 = error: code:byte message
//   block    = kind:byte level:byte header:byte page text start end count origins
//   origin   = text_offset and source_offset as differences to the last one, text_unit, source_unit
//   numbers are unsigned LEB128 (source differences too: sources ascend), strings a number and bytes
#pragma once

#include <string>
#include <string_view>

#include "apps/documents/document.h"

namespace edge_infer {

constexpr int64_t kMaxBlocks = 1'000'000;  // of one document

struct ReaderAnswer {
  bool seccomp = false, landlock = false;
  Result<Document> document;
};

std::string encode_answer(const ReaderAnswer& answer);

// Errors (in the outer Result): kCorruption for bytes that no right child writes. `source_bytes` is the size
// of the file; offsets of formats with extracted text are checked against that text instead.
Result<ReaderAnswer> decode_answer(std::string_view bytes, const ReadLimits& limits, int64_t source_bytes);

// Whether block offsets count bytes of the extracted text instead of the file.
bool has_extracted_offsets(std::string_view format);

// Strict UTF-8: no overlong forms, surrogates, or code points past U+10FFFF. Returns the first offset that is
// wrong, or text.size().
size_t valid_utf8_prefix(std::string_view text);

}  // namespace edge_infer
