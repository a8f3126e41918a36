#include "apps/index/path_text.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <utility>

namespace edge_infer {
namespace {

struct Character {
  utf8proc_int32_t code = 0;
  size_t bytes = 1;
  bool valid = false;
};

Character character_at(std::string_view text, size_t at) {
  Character c;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
  const auto left = static_cast<utf8proc_ssize_t>(std::min<size_t>(text.size() - at, 4));
  const utf8proc_ssize_t length = utf8proc_iterate(bytes, left, &c.code);
  c.valid = length > 0;
  if (c.valid) c.bytes = static_cast<size_t>(length);
  return c;
}

template <typename Keep>
std::string escape(std::string_view path, Keep keep) {
  std::string out;
  for (size_t at = 0; at < path.size();) {
    const Character c = character_at(path, at);
    if (c.valid && keep(c.code)) {
      out += path.substr(at, c.bytes);
    } else {
      for (size_t i = 0; i < c.bytes; ++i)
        out += fmt::format("%{:02X}", static_cast<unsigned char>(path[at + i]));
    }
    at += c.bytes;
  }
  return out;
}

bool is_blank(utf8proc_int32_t c) {
  const utf8proc_category_t category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP || c == ' ';
}

// Embeddings, overrides and isolates of Unicode's bidirectional algorithm.
bool turns_writing(utf8proc_int32_t c) {
  return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::string path_as_utf8(std::string_view path) {
  return escape(path, [](utf8proc_int32_t) { return true; });
}

std::string path_for_terminal(std::string_view path) {
  return escape(path, [](utf8proc_int32_t c) {
    const utf8proc_category_t category = utf8proc_category(c);
    return category != UTF8PROC_CATEGORY_CC && category != UTF8PROC_CATEGORY_CF &&
           category != UTF8PROC_CATEGORY_ZL && category != UTF8PROC_CATEGORY_ZP;
  });
}

std::string line_for_terminal(std::string_view text) {
  std::string out;
  bool space = false;
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    const std::string_view bytes = text.substr(at, c.bytes);
    at += c.bytes;
    if (c.valid && is_blank(c.code)) {
      space = !out.empty();
      continue;
    }
    if (c.valid && turns_writing(c.code)) continue;
    if (std::exchange(space, false)) out += ' ';
    out += c.valid ? bytes : "\xef\xbf\xbd";
  }
  return out;
}

}  // namespace edge_infer
