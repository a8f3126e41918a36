// HTTP requests and answers as the service sees them: plain data, free of the HTTP library and of sockets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace edge_infer {

// The head of a request; a header that the request lacks is nullopt.
struct RequestHead {
  std::string method;                    // upper case as sent: "GET", "POST", ...
  std::string path;                      // without scheme, authority, query and fragment; percent-decoded
  std::optional<std::string> authority;  // of a target in absolute form: it counts instead of Host
  bool http_1_0 = false;
  std::optional<std::string> host, origin, content_type, content_encoding;
  std::optional<std::string> authorization, request_id, fetch_site;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // besides Content-Type and Content-Length
};

// A failure on the wire: OpenAI's nested error object. Empty type, param and code print as null.
struct ApiError {
  int status = 400;
  std::string message;
  std::string param;  // the field of the body that is wrong
  std::string code;   // "model_not_found", "context_length_exceeded", ...
  std::string type = "invalid_request_error";
};

// {"error":{"message","type","param","code"}}; 429 and 503 get Retry-After and retry-after-ms.
HttpResponse error_response(const ApiError& error);

// `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_string(const std::string& text);

struct RequestTarget {
  std::string path;                      // percent-decoded, without query and fragment
  std::optional<std::string> authority;  // of the absolute form, as it stands there
};

// Splits a request target ("/a%20b?c", "http://host:1/a"); nullopt when it is malformed.
std::optional<RequestTarget> parse_target(const std::string& target);

}  // namespace edge_infer
