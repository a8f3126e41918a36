// UTF-8 and the Unicode mappings of normalizers, agreeing code point by code point with Hugging Face
// `tokenizers`. Text in the middle of normalization is a CodeText: characters that remember which bytes of
// the input they came from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizers/unicode_tables.h"

namespace edge_infer {

struct CodeChar {
  uint32_t code = 0;
  uint32_t begin = 0, end = 0;  // bytes of the input
};
using CodeText = std::vector<CodeChar>;

namespace unicode {

constexpr uint32_t kReplacement = 0xfffd;
constexpr uint32_t kMaxCode = 0x10ffff;

struct Decoded {
  uint32_t code;
  uint32_t length;  // bytes, at least 1
};
// The character at `p` (p < end). Bytes that are not UTF-8 give U+FFFD for each maximal subpart, as Unicode
// recommends.
Decoded decode(const unsigned char* p, const unsigned char* end);
// Appends `text` to `out`; its bytes are counted from `offset`.
void decode_all(std::string_view text, uint32_t offset, CodeText& out);
// Writes the UTF-8 form and returns its length, 1 to 4. `code` is a scalar value.
int encode(uint32_t code, char* out);
void append_utf8(uint32_t code, std::string& out);

bool contains(std::span<const CodeRange> ranges, uint32_t code);
// Whether any code of [first, last] is in the ranges.
bool intersects(std::span<const CodeRange> ranges, uint32_t first, uint32_t last);
bool is_white_space(uint32_t code);
bool is_punctuation(uint32_t code);
// Whether the canonical ordering of a normal form may move this character.
inline bool is_non_starter(uint32_t code) {
  return code >= 0x300 && contains(kNonStarter, code);
}
inline bool is_word(uint32_t code) {
  return contains(kWord, code);
}

enum class Form { kNfc, kNfd, kNfkc, kNfkd };
// Replaces the text by its normal form. Linear time.
void normalize(Form form, CodeText& text);
// char::to_lowercase of each character on its own (no final sigma).
void lower_case(CodeText& text);
// str.lower of Python: as lower_case, but a final sigma becomes U+03C2.
void lower_case_words(CodeText& text);

}  // namespace unicode
}  // namespace edge_infer
