#include "apps/server/http_message.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace edge_infer {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Of "http://" or "https://" at the beginning, in any case; 0 without one.
size_t scheme_length(const std::string& target) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (target.size() >= scheme.size() &&
        std::equal(scheme.begin(), scheme.end(), target.begin(), [](char expected, char found) {
          return expected == found || (found >= 'A' && found <= 'Z' && expected == found - 'A' + 'a');
        }))
      return scheme.size();
  return 0;
}

std::string string_or_null(const std::string& text) {
  return text.empty() ? "null" : json_string(text);
}

}  // namespace

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

HttpResponse error_response(const ApiError& error) {
  HttpResponse response;
  response.status = error.status;
  response.body = "{\"error\":{\"message\":" + json_string(error.message) +
                  ",\"type\":" + string_or_null(error.type) + ",\"param\":" + string_or_null(error.param) +
                  ",\"code\":" + string_or_null(error.code) + "}}";
  if (error.status == 429 || error.status == 503) {
    response.headers.emplace_back("Retry-After", "1");
    response.headers.emplace_back("retry-after-ms", "500");
  }
  return response;
}

std::optional<RequestTarget> parse_target(const std::string& target) {
  RequestTarget result;
  size_t begin = 0;
  if (const size_t scheme = scheme_length(target); scheme != 0) {
    begin = std::min(target.find_first_of("/?#", scheme), target.size());
    result.authority = target.substr(scheme, begin - scheme);
    if (begin == target.size() || target[begin] != '/') {
      result.path = "/";
      return result;
    }
  }
  if (begin >= target.size() || target[begin] != '/') return std::nullopt;
  std::string& path = result.path;
  for (size_t i = begin; i < target.size() && target[i] != '?' && target[i] != '#'; ++i) {
    if (target[i] != '%') {
      path += target[i];
      continue;
    }
    if (i + 2 >= target.size()) return std::nullopt;
    const int high = hex_digit(target[i + 1]), low = hex_digit(target[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    path += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return result;
}

}  // namespace edge_infer
