#include "apps/documents/readers/encoding.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include "apps/documents/protocol.h"

namespace edge_infer {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

void put_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xc0 | (c >> 6)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | (c >> 12)));
    out.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else {
    out.push_back(static_cast<char>(0xf0 | (c >> 18)));
    out.push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  }
}

// windows-1252 0x80..0x9f; 0 where it has no character.
constexpr std::array<uint16_t, 32> kWindows1252 = {
    0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017d, 0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178};

DecodedText decode_windows_1252(std::string_view source) {
  DecodedText out = DecodedText::own({});
  std::string character;
  for (size_t i = 0; i < source.size(); ++i) {
    const auto byte = static_cast<unsigned char>(source[i]);
    uint32_t c = byte;
    if (byte >= 0x80 && byte < 0xa0) c = kWindows1252[byte - 0x80] != 0 ? kWindows1252[byte - 0x80] : 0xfffd;
    character.clear();
    put_utf8(character, c);
    out.append(character, static_cast<int64_t>(i), 1);
  }
  return out;
}

template <size_t kUnit>
DecodedText decode_wide(std::string_view source, bool big_endian, size_t skip) {
  DecodedText out = DecodedText::own({});
  const auto unit_at = [&](size_t i) {
    uint32_t value = 0;
    for (size_t k = 0; k < kUnit; ++k) {
      const auto byte = static_cast<unsigned char>(source[big_endian ? i + k : i + kUnit - 1 - k]);
      value = (value << 8) | byte;
    }
    return value;
  };
  std::string character;
  size_t i = skip;
  while (i + kUnit <= source.size()) {
    uint32_t c = unit_at(i);
    size_t size = kUnit;
    if (kUnit == 2 && c >= 0xd800 && c < 0xdc00 && i + 4 <= source.size()) {
      const uint32_t low = unit_at(i + 2);
      if (low >= 0xdc00 && low < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        size = 4;
      }
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
    character.clear();
    put_utf8(character, c);
    out.append(character, static_cast<int64_t>(i), static_cast<int64_t>(size));
    i += size;
  }
  return out;
}

// UTF-8 with every maximal wrong part read as U+FFFD.
DecodedText repair_utf8(std::string_view source, size_t skip) {
  DecodedText out = DecodedText::own({});
  size_t i = skip;
  while (i < source.size()) {
    const size_t good = valid_utf8_prefix(source.substr(i));
    for (size_t k = 0; k < good;) {  // by character, so that the map's units stay characters
      const auto lead = static_cast<unsigned char>(source[i + k]);
      const size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      out.append(source.substr(i + k, size), static_cast<int64_t>(i + k), static_cast<int64_t>(size));
      k += size;
    }
    i += good;
    if (i == source.size()) break;
    size_t bad = 1;
    while (i + bad < source.size() && bad < 3 && (static_cast<unsigned char>(source[i + bad]) & 0xc0) == 0x80)
      ++bad;
    out.append(kReplacement, static_cast<int64_t>(i), static_cast<int64_t>(bad));
    i += bad;
  }
  return out;
}

struct ByteCensus {
  size_t high = 0, adjacent = 0, undefined = 0, multibyte = 0, invalid = 0, first_invalid = 0;
};

ByteCensus census(std::string_view source) {
  ByteCensus counts;
  bool before = false;
  for (const char c : source) {
    const auto byte = static_cast<unsigned char>(c);
    const bool high = byte >= 0x80;
    counts.high += high;
    counts.adjacent += high && before;
    counts.undefined += byte == 0x81 || byte == 0x8d || byte == 0x8f || byte == 0x90 || byte == 0x9d;
    before = high;
  }
  for (size_t i = 0; i < source.size();) {
    const size_t good = valid_utf8_prefix(source.substr(i));
    for (size_t k = i; k < i + good; ++k) counts.multibyte += static_cast<unsigned char>(source[k]) >= 0xc0;
    i += good;
    if (i < source.size()) {
      if (counts.invalid++ == 0) counts.first_invalid = i;
      ++i;
    }
  }
  return counts;
}

// 0: not UTF-16; else 'l' or 'b'. Without a byte order mark, Latin text shows it by zeros at every second
// byte.
char utf16_without_mark(std::string_view source) {
  const size_t n = std::min<size_t>(source.size(), 4096) & ~size_t{1};
  if (n < 8) return 0;
  size_t even = 0, odd = 0;
  for (size_t i = 0; i < n; i += 2) {
    even += source[i] == 0;
    odd += source[i + 1] == 0;
  }
  if (odd * 2 > n * 4 / 5 && even * 2 * 20 < n) return 'l';
  if (even * 2 > n * 4 / 5 && odd * 2 * 20 < n) return 'b';
  return 0;
}

bool has_wide_mark(std::string_view source) {
  return source.starts_with("\xff\xfe") || source.starts_with("\xfe\xff") ||
         source.starts_with(std::string_view("\0\0\xfe\xff", 4));
}

// European text in a one-byte encoding has few high bytes, and hardly two in a row.
bool plausible_windows_1252(std::string_view source, const ByteCensus& counts) {
  const size_t visible = static_cast<size_t>(std::count_if(
      source.begin(), source.end(), [](char c) { return static_cast<unsigned char>(c) > 0x20; }));
  return counts.high * 100 <= visible * 22 + 200 && counts.adjacent * 10 <= counts.high * 3 + 20 &&
         counts.undefined * 50 <= counts.high + 50;
}

}  // namespace

DecodedText DecodedText::alias(std::string_view source, size_t skip) {
  DecodedText out;
  out.aliased_ = source.substr(skip);
  out.origins_ = {{0, static_cast<int64_t>(skip), 1, 1}};
  return out;
}

DecodedText DecodedText::own(std::string text) {
  DecodedText out;
  if (!text.empty()) out.origins_ = {{0, 0, 1, 1}};
  out.owned_ = std::move(text);
  return out;
}

void append_origin(std::vector<Origin>& origins, int64_t text_offset, int64_t text_size,
                   int64_t source_offset, int32_t text_unit, int32_t source_unit) {
  if (text_size <= 0) return;
  if (!origins.empty()) {
    Origin& last = origins.back();
    const int64_t units = (text_offset - last.text_offset) / last.text_unit;
    const int64_t end = last.source_offset + units * last.source_unit;
    const int64_t source_end = source_offset + text_size / text_unit * source_unit;
    if (last.text_unit == text_unit && last.source_unit == source_unit && end == source_offset) return;
    // Runs that would outweigh the text, or that go backwards, join the last one as a single wide unit.
    const bool many = origins.size() > 64 && static_cast<int64_t>(origins.size()) > text_offset / 8;
    if (source_offset < end || many) {
      last.text_unit = static_cast<int32_t>(text_offset + text_size - last.text_offset);
      last.source_unit = static_cast<int32_t>(std::max(end, source_end) - last.source_offset);
      return;
    }
  }
  origins.push_back({text_offset, source_offset, text_unit, source_unit});
}

void DecodedText::append(std::string_view character, int64_t offset, int64_t size) {
  append_origin(origins_, static_cast<int64_t>(owned_.size()), static_cast<int64_t>(character.size()), offset,
                static_cast<int32_t>(character.size()), static_cast<int32_t>(size));
  owned_.append(character);
}

bool looks_binary(std::string_view source) {
  if (has_wide_mark(source) || utf16_without_mark(source) != 0) return false;
  const std::string_view head = source.substr(0, 1 << 16);
  size_t control = 0, zero = 0;
  for (const char c : head) {
    const auto byte = static_cast<unsigned char>(c);
    // Form feed, escape, backspace (overstriking) and the separators 0x1c-0x1f (Info files) occur in texts.
    if (byte == 0) ++zero;
    if (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t' && byte != '\f' && byte != '\v' &&
        byte != '\b' && byte < 0x1a)
      ++control;
  }
  return control * 50 > head.size() + 50 || zero * 100 > head.size() + 100;
}

Result<DecodedText> decode_text(std::string_view source, std::string_view label, Charset* charset) {
  if (source.starts_with(std::string_view("\xff\xfe\0\0", 4))) return decode_wide<4>(source, false, 4);
  if (source.starts_with(std::string_view("\0\0\xfe\xff", 4))) return decode_wide<4>(source, true, 4);
  if (source.starts_with("\xff\xfe")) return decode_wide<2>(source, false, 2);
  if (source.starts_with("\xfe\xff")) return decode_wide<2>(source, true, 2);
  if (const char order = utf16_without_mark(source); order != 0) {
    DecodedText out = decode_wide<2>(source, order == 'b', 0);
    out.note = "no byte order mark: read as utf-16";
    return out;
  }
  const size_t skip = source.starts_with("\xef\xbb\xbf") ? 3 : 0;
  if (charset == nullptr || skip != 0) {
    const size_t good = valid_utf8_prefix(source.substr(skip));
    if (good == source.size() - skip) return DecodedText::alias(source, skip);
  }
  const bool says_latin = label == "iso-8859-1" || label == "windows-1252" || label == "latin1" ||
                          label == "latin-1" || label == "us-ascii" || label == "cp1252" ||
                          label == "iso8859-1";
  if (says_latin && skip == 0) return decode_windows_1252(source);
  if (charset != nullptr && skip == 0) return charset->decode(source);

  const ByteCensus counts = census(source);
  if (skip != 0 || label == "utf-8" || label == "utf8" || counts.multibyte >= counts.invalid) {
    DecodedText out = repair_utf8(source, skip);
    out.note = fmt::format("not valid utf-8 at byte {}: {} wrong bytes replaced", counts.first_invalid,
                           counts.invalid);
    return out;
  }
  if (plausible_windows_1252(source, counts)) {
    DecodedText out = decode_windows_1252(source);
    out.note = fmt::format("not utf-8 (byte {}): read as windows-1252", counts.first_invalid);
    return out;
  }
  return fail(ErrorCode::kCorruption,
              "text in an unknown encoding: not utf-8 (first wrong byte at {}), and unlike windows-1252",
              counts.first_invalid);
}

}  // namespace edge_infer
