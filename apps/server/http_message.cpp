#include "apps/server/http_message.h"

#include <nlohmann/json.hpp>

namespace edge_infer {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
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

std::optional<std::string> target_path(const std::string& target) {
  size_t begin = 0;
  if (const size_t scheme = target.find("://"); scheme != std::string::npos && target[0] != '/') {
    begin = target.find('/', scheme + 3);
    if (begin == std::string::npos) return "/";
  }
  if (begin >= target.size() || target[begin] != '/') return std::nullopt;
  std::string path;
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
  return path;
}

}  // namespace edge_infer
