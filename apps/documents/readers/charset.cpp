#include <iconv.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <utility>

#include "apps/documents/readers/encoding.h"

namespace edge_infer {
namespace {

// Labels of the WHATWG encoding standard (the common ones) and iconv's names. Stateful charsets are left out
// on purpose: their converters keep state across characters and have a history of overflows.
constexpr std::array<std::pair<std::string_view, const char*>, 46> kCharsets = {{
    {"iso-8859-2", "ISO-8859-2"},   {"latin2", "ISO-8859-2"},
    {"iso-8859-3", "ISO-8859-3"},   {"iso-8859-4", "ISO-8859-4"},
    {"iso-8859-5", "ISO-8859-5"},   {"iso-8859-6", "ISO-8859-6"},
    {"iso-8859-7", "ISO-8859-7"},   {"greek", "ISO-8859-7"},
    {"iso-8859-8", "ISO-8859-8"},   {"iso-8859-9", "CP1254"},
    {"latin5", "CP1254"},           {"iso-8859-10", "ISO-8859-10"},
    {"iso-8859-13", "ISO-8859-13"}, {"iso-8859-14", "ISO-8859-14"},
    {"iso-8859-15", "ISO-8859-15"}, {"latin9", "ISO-8859-15"},
    {"iso-8859-16", "ISO-8859-16"}, {"windows-1250", "CP1250"},
    {"cp1250", "CP1250"},           {"windows-1251", "CP1251"},
    {"cp1251", "CP1251"},           {"windows-1253", "CP1253"},
    {"windows-1254", "CP1254"},     {"windows-1255", "CP1255"},
    {"windows-1256", "CP1256"},     {"windows-1257", "CP1257"},
    {"windows-1258", "CP1258"},     {"windows-874", "CP874"},
    {"tis-620", "CP874"},           {"koi8-r", "KOI8-R"},
    {"koi8-u", "KOI8-U"},           {"ibm866", "IBM866"},
    {"macintosh", "MACINTOSH"},     {"shift_jis", "CP932"},
    {"shift-jis", "CP932"},         {"sjis", "CP932"},
    {"windows-31j", "CP932"},       {"euc-jp", "EUC-JP"},
    {"gb2312", "GB18030"},          {"gbk", "GB18030"},
    {"gb18030", "GB18030"},         {"big5", "BIG5-HKSCS"},
    {"big5-hkscs", "BIG5-HKSCS"},   {"euc-kr", "UHC"},
    {"ks_c_5601-1987", "UHC"},      {"windows-949", "UHC"},
}};

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// The value after name= in `text` from `at` on: quoted or bare.
std::string value_after(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '=' || text[at] == '"' || text[at] == '\''))
    ++at;
  std::string value;
  while (at < text.size() && value.size() < 40 &&
         (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '-' || text[at] == '_'))
    value.push_back(lower(text[at++]));
  return value;
}

}  // namespace

std::unique_ptr<Charset> Charset::open(std::string_view label) {
  for (const auto& [name, iconv_name] : kCharsets) {
    if (name != label) continue;
    const iconv_t handle = ::iconv_open("UTF-8", iconv_name);
    if (handle == reinterpret_cast<iconv_t>(-1)) return nullptr;
    return std::unique_ptr<Charset>(new Charset(handle, std::string(label)));
  }
  return nullptr;
}

Charset::~Charset() {
  ::iconv_close(handle_);
}

DecodedText Charset::decode(std::string_view source) {
  DecodedText out = DecodedText::own({});
  size_t wrong = 0;
  std::array<char, 32> buffer;
  for (size_t at = 0; at < source.size();) {
    // One character at a time: the shortest input that gives output.
    size_t used = 0, made = 0;
    for (size_t size = 1; size <= 4 && at + size <= source.size(); ++size) {
      char* in = const_cast<char*>(source.data() + at);
      char* to = buffer.data();
      size_t in_left = size, to_left = buffer.size();
      const size_t status = ::iconv(handle_, &in, &in_left, &to, &to_left);
      if (status == static_cast<size_t>(-1) && errno == EINVAL) continue;  // cut in the character
      if (status != static_cast<size_t>(-1) && in_left == 0) {
        // Converters that look ahead for combining characters give their output only when flushed.
        if (to_left == buffer.size()) ::iconv(handle_, nullptr, nullptr, &to, &to_left);
        used = size;
        made = buffer.size() - to_left;
      }
      break;
    }
    if (used == 0 || made == 0) {
      ::iconv(handle_, nullptr, nullptr, nullptr, nullptr);
      out.append("\xef\xbf\xbd", static_cast<int64_t>(at), 1);
      ++wrong;
      ++at;
      continue;
    }
    out.append({buffer.data(), made}, static_cast<int64_t>(at), static_cast<int64_t>(used));
    at += used;
  }
  if (wrong > 0) out.note = fmt::format("{} bytes are not {}: replaced", wrong, name_);
  return out;
}

std::string declared_charset(std::string_view source) {
  std::string head(source.substr(0, 1024));
  std::transform(head.begin(), head.end(), head.begin(), lower);
  if (head.starts_with("<?xml")) {
    const size_t end = head.find("?>"), at = head.find("encoding");
    if (at != std::string::npos && at < end) return value_after(head, at + 8);
  }
  for (size_t meta = head.find("<meta"); meta != std::string::npos; meta = head.find("<meta", meta + 5)) {
    const size_t end = std::min(head.find('>', meta), head.size());
    const size_t at = head.find("charset", meta);
    if (at < end) return value_after(head, at + 7);
  }
  return {};
}

}  // namespace edge_infer
