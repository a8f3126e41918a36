#include "apps/server/access.h"

#include <algorithm>
#include <string_view>

namespace edge_infer {
namespace {

constexpr size_t kMaxKeyBytes = 4096;  // a head has room for more

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The host of "host[:port]", lower case and without brackets; nullopt when the form is wrong.
std::optional<std::string> authority_host(std::string_view authority) {
  std::string_view host = authority;
  if (authority.starts_with('[')) {
    const size_t close = authority.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    host = authority.substr(1, close - 1);
    const std::string_view rest = authority.substr(close + 1);
    if (!rest.empty() && (rest[0] != ':' || !all_digits(rest.substr(1)))) return std::nullopt;
  } else if (const size_t colon = authority.find(':'); colon != std::string_view::npos) {
    host = authority.substr(0, colon);
    if (!all_digits(authority.substr(colon + 1))) return std::nullopt;
  }
  if (host.empty()) return std::nullopt;
  return lower(host);
}

bool is_loopback_host(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  // 127.a.b.c only as four decimal numbers, so that "127.0.0.1.evil.example" is no match.
  int dots = 0;
  for (const char c : host) {
    if (c == '.')
      ++dots;
    else if (c < '0' || c > '9')
      return false;
  }
  return dots == 3 && host.starts_with("127.");
}

std::string bare_host(const std::string& bind_host) {
  if (bind_host.size() > 2 && bind_host.front() == '[' && bind_host.back() == ']')
    return lower(std::string_view(bind_host).substr(1, bind_host.size() - 2));
  return lower(bind_host);
}

// The authority of an Origin ("http://host:port"); nullopt for "null" and other schemes.
std::optional<std::string> origin_host(const std::string& origin) {
  const std::string text = lower(origin);
  for (const std::string_view scheme : {"http://", "https://"})
    if (text.starts_with(scheme)) return authority_host(std::string_view(text).substr(scheme.size()));
  return std::nullopt;
}

}  // namespace

bool is_loopback_authority(const std::string& authority) {
  const auto host = authority_host(authority);
  return host && is_loopback_host(*host);
}

bool constant_time_equal(const std::string& given, const std::string& secret) {
  volatile unsigned char difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const char other = secret.empty() ? '\0' : secret[i % secret.size()];
    difference = static_cast<unsigned char>(difference | static_cast<unsigned char>(given[i] ^ other));
  }
  return difference == 0;
}

Status check_api_key(const std::string& key) {
  const auto visible = [](char c) { return c > ' ' && c < 0x7f; };
  if (key.empty() || key.size() > kMaxKeyBytes || !std::all_of(key.begin(), key.end(), visible))
    return fail(ErrorCode::kInvalidArgument,
                "the API key (--api-key or $EDGE_INFER_API_KEY) cannot stand in a header: expected 1 to {} "
                "visible ASCII characters without spaces",
                kMaxKeyBytes);
  return {};
}

bool is_json_content_type(const std::string& content_type) {
  std::string_view media = std::string_view(content_type).substr(0, content_type.find(';'));
  while (!media.empty() && (media.back() == ' ' || media.back() == '\t')) media.remove_suffix(1);
  while (!media.empty() && (media.front() == ' ' || media.front() == '\t')) media.remove_prefix(1);
  return lower(media) == "application/json";
}

bool is_identity_encoding(const std::string& content_encoding) {
  return content_encoding.empty() || lower(content_encoding) == "identity";
}

std::optional<ApiError> check_access(const AccessPolicy& policy, const RequestHead& head) {
  std::string host;
  if (!head.host && !head.http_1_0)
    return ApiError{400, "the request has no Host header", "", "missing_host"};
  // The target's authority counts where there is one (RFC 9112, 3.2.2); a foreign Host stays foreign.
  for (const std::optional<std::string>& authority : {head.host, head.authority}) {
    if (!authority) continue;
    const auto name = authority_host(*authority);
    if (!name) return ApiError{400, "malformed host \"" + *authority + "\"", "", "malformed_host"};
    host = *name;
    if (policy.loopback && !is_loopback_host(host) && host != bare_host(policy.bind_host))
      return ApiError{
          403, "the host \"" + *authority + "\" is not allowed, expected localhost, 127.0.0.1 or [::1]", "",
          "host_not_allowed", "permission_error"};
  }
  if (head.origin) {
    const auto name = origin_host(*head.origin);
    const bool same_site =
        name && (policy.loopback ? is_loopback_host(*name) : !host.empty() && *name == host);
    if (!same_site)
      return ApiError{403, "requests from the origin \"" + *head.origin + "\" are not allowed", "",
                      "origin_not_allowed", "permission_error"};
  } else if (head.fetch_site && *head.fetch_site == "cross-site") {
    return ApiError{403, "cross-site requests are not allowed", "", "origin_not_allowed", "permission_error"};
  }
  const bool reads = head.method == "GET" || head.method == "HEAD";
  if (!policy.api_key.empty() && !(reads && head.path == "/health")) {
    constexpr std::string_view kBearer = "bearer ";
    const std::string value = head.authorization.value_or("");
    const bool bearer = value.size() >= kBearer.size() && lower(value.substr(0, kBearer.size())) == kBearer;
    if (!bearer || !constant_time_equal(value.substr(kBearer.size()), policy.api_key))
      return ApiError{401,
                      value.empty() ? "no API key: send the header \"Authorization: Bearer KEY\""
                                    : "the API key is wrong",
                      "", "invalid_api_key", "authentication_error"};
  }
  return std::nullopt;
}

}  // namespace edge_infer
