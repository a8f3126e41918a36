#include "models/tokenizers/unicode.h"

namespace edge_infer::unicode {
namespace {

bool is_continuation(unsigned char byte) {
  return (byte & 0xc0) == 0x80;
}

}  // namespace

Decoded decode(const unsigned char* p, const unsigned char* end) {
  const unsigned char lead = *p;
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xc2 || lead > 0xf4) return {kReplacement, 1};
  const auto available = end - p;
  if (lead < 0xe0) {
    if (available < 2 || !is_continuation(p[1])) return {kReplacement, 1};
    return {(lead & 0x1fu) << 6 | (p[1] & 0x3fu), 2};
  }
  // The second byte of some leads has a narrower range: no overlong forms, surrogates or codes over U+10FFFF.
  unsigned char low = 0x80, high = 0xbf;
  if (lead == 0xe0) low = 0xa0;
  if (lead == 0xed) high = 0x9f;
  if (lead == 0xf0) low = 0x90;
  if (lead == 0xf4) high = 0x8f;
  if (available < 2 || p[1] < low || p[1] > high) return {kReplacement, 1};
  if (available < 3 || !is_continuation(p[2])) return {kReplacement, 2};
  if (lead < 0xf0) return {(lead & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu), 3};
  if (available < 4 || !is_continuation(p[3])) return {kReplacement, 3};
  return {(lead & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu), 4};
}

void decode_all(std::string_view text, uint32_t offset, CodeText& out) {
  const auto* begin = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = begin + text.size();
  for (const auto* p = begin; p < end;) {
    const Decoded next = decode(p, end);
    const auto at = offset + static_cast<uint32_t>(p - begin);
    out.push_back({next.code, at, at + next.length});
    p += next.length;
  }
}

int encode(uint32_t code, char* out) {
  if (code < 0x80) {
    out[0] = static_cast<char>(code);
    return 1;
  }
  if (code < 0x800) {
    out[0] = static_cast<char>(0xc0 | code >> 6);
    out[1] = static_cast<char>(0x80 | (code & 0x3f));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = static_cast<char>(0xe0 | code >> 12);
    out[1] = static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out[2] = static_cast<char>(0x80 | (code & 0x3f));
    return 3;
  }
  out[0] = static_cast<char>(0xf0 | code >> 18);
  out[1] = static_cast<char>(0x80 | (code >> 12 & 0x3f));
  out[2] = static_cast<char>(0x80 | (code >> 6 & 0x3f));
  out[3] = static_cast<char>(0x80 | (code & 0x3f));
  return 4;
}

void append_utf8(uint32_t code, std::string& out) {
  char bytes[4];
  out.append(bytes, static_cast<size_t>(encode(code, bytes)));
}

}  // namespace edge_infer::unicode
