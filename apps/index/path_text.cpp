#include "apps/index/path_text.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>

namespace edge_infer {
namespace {

template <typename Keep>
std::string escape(std::string_view path, Keep keep) {
  std::string out;
  for (size_t at = 0; at < path.size();) {
    utf8proc_int32_t c = 0;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(path.data()) + at;
    const auto left = static_cast<utf8proc_ssize_t>(std::min<size_t>(path.size() - at, 4));
    const utf8proc_ssize_t length = utf8proc_iterate(bytes, left, &c);
    const size_t n = length > 0 ? static_cast<size_t>(length) : 1;
    if (length > 0 && keep(c)) {
      out += path.substr(at, n);
    } else {
      for (size_t i = 0; i < n; ++i) out += fmt::format("%{:02X}", static_cast<unsigned char>(path[at + i]));
    }
    at += n;
  }
  return out;
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

}  // namespace edge_infer
