#include "apps/server/request_head.h"

#include <boost/beast/core/string.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace edge_infer {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

constexpr const char* kSingleHeaders[] = {"Host",          "Origin",           "Content-Type",
                                          "Authorization", "Content-Encoding", "Sec-Fetch-Site"};

std::optional<std::string> field(const http::fields& fields, const char* name) {
  const auto found = fields.find(name);
  if (found == fields.end()) return std::nullopt;
  return std::string(found->value());
}

}  // namespace

RequestHead read_head(const ParsedHead& parsed, RequestTarget target) {
  RequestHead head;
  head.method = std::string(parsed.method_string());
  head.path = std::move(target.path);
  head.authority = std::move(target.authority);
  head.http_1_0 = parsed.version() == 10;
  head.host = field(parsed, "Host");
  head.origin = field(parsed, "Origin");
  head.content_type = field(parsed, "Content-Type");
  head.content_encoding = field(parsed, "Content-Encoding");
  head.authorization = field(parsed, "Authorization");
  head.request_id = field(parsed, "x-request-id");
  head.fetch_site = field(parsed, "Sec-Fetch-Site");
  return head;
}

std::optional<ApiError> check_framing(const ParsedHead& parsed) {
  const auto coding = field(parsed, "Transfer-Encoding");
  if (!coding) return std::nullopt;
  if (parsed.version() == 10)
    return ApiError{400, "Transfer-Encoding has no meaning in HTTP/1.0", "", "unsupported_transfer_encoding"};
  if (parsed.count("Transfer-Encoding") == 1 && beast::iequals(*coding, "chunked")) return std::nullopt;
  return ApiError{400, "Transfer-Encoding \"" + *coding + "\" is not supported, expected \"chunked\" alone",
                  "", "unsupported_transfer_encoding"};
}

std::optional<ApiError> check_unambiguous(const ParsedHead& parsed) {
  for (const char* name : kSingleHeaders)
    if (parsed.count(name) > 1)
      return ApiError{400, std::string("the request has more than one ") + name + " header", "",
                      "duplicate_header"};
  return std::nullopt;
}

}  // namespace edge_infer
