// From the bytes of a text file to UTF-8, remembering which byte every character came from.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/documents/document.h"

namespace edge_infer {

// UTF-8 text with its map to the source's bytes. Movable; `text()` may alias the source, which must outlive
// it.
class DecodedText {
 public:
  // The source itself from byte `skip` on (a byte order mark is skipped), which must be valid UTF-8.
  static DecodedText alias(std::string_view source, size_t skip);
  // Text that came from nowhere in particular: offsets are those of `text` itself.
  static DecodedText own(std::string text);

  std::string_view text() const { return owned_.empty() ? aliased_ : owned_; }
  const std::vector<Origin>& origins() const { return origins_; }
  std::string note;

  // Appends a character that source[offset, offset + size) stands for.
  void append(std::string_view character, int64_t offset, int64_t size);

 private:
  std::string_view aliased_;
  std::string owned_;
  std::vector<Origin> origins_;
};

// Extends `origins` by text of `text_size` bytes at `text_offset` that came from source_size bytes at
// source_offset, in units of the sizes given (text_size a multiple of text_unit). Contiguous runs of equal
// units become one; a source offset below the end of what is there is never recorded, so origins ascend.
void append_origin(std::vector<Origin>& origins, int64_t text_offset, int64_t text_size,
                   int64_t source_offset, int32_t text_unit, int32_t source_unit);

// A charset of glibc's iconv by one of the labels that the web uses ("Shift_JIS", "latin2", ...). Opening
// loads a module from the file system, so it happens before the sandbox closes; converting needs nothing of
// the system.
class Charset {
 public:
  // Null where the label is unknown, stateful (iso-2022-*) or built in (utf-8, utf-16, iso-8859-1,
  // windows-1252).
  static std::unique_ptr<Charset> open(std::string_view label);
  ~Charset();
  Charset(const Charset&) = delete;
  Charset& operator=(const Charset&) = delete;
  DecodedText decode(std::string_view source);

 private:
  Charset(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* handle_;  // iconv_t
  std::string name_;
};

// The charset that a <meta> element or an XML declaration names in the first 1,024 bytes, lower-case; or
// empty.
std::string declared_charset(std::string_view source);

// UTF-8, -16 and -32 by byte order mark, then by form; then `label` (a declaration; `charset` is what
// Charset::open(label) gave); then windows-1252 where the bytes look like a European text. `note` says when
// the text was guessed or repaired. Errors: kCorruption for an unknown encoding: mojibake is worse than
// nothing.
Result<DecodedText> decode_text(std::string_view source, std::string_view label, Charset* charset);
// The result may alias `source`.
template <std::same_as<std::string> Temporary>
Result<DecodedText> decode_text(Temporary&& source, std::string_view label, Charset* charset) = delete;

// Whether the bytes are no text of any encoding: zero bytes or many control characters that UTF-16 does not
// explain.
bool looks_binary(std::string_view source);

}  // namespace edge_infer
