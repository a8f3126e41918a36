#include "apps/pull/http_fetch.h"

#include <curl/curl.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <optional>
#include <utility>

namespace edge_infer {
namespace {

constexpr int kMaxRedirects = 5;
constexpr long kConnectSeconds = 20, kStalledSeconds = 60, kStalledBytesPerSecond = 64;

struct UrlParts {
  std::string url, scheme, host, port;
  bool loopback = false;
};

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

bool is_loopback(const std::string& host) {
  if (host == "localhost" || host == "[::1]" || host == "::1") return true;
  const auto numeric = [](char c) { return c == '.' || (c >= '0' && c <= '9'); };
  return host.starts_with("127.") && std::all_of(host.begin(), host.end(), numeric) &&
         std::count(host.begin(), host.end(), '.') == 3;
}

// `url` itself, or where it leads from `base` when it is relative.
std::optional<UrlParts> parse_url(const std::string& base, const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> handle(curl_url(), curl_url_cleanup);
  if (!handle) return std::nullopt;
  if (!base.empty() && curl_url_set(handle.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK)
    return std::nullopt;
  if (curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return std::nullopt;
  const auto part = [&](CURLUPart which, unsigned flags = 0) -> std::string {
    char* value = nullptr;
    if (curl_url_get(handle.get(), which, &value, flags) != CURLUE_OK || value == nullptr) return {};
    std::string text = value;
    curl_free(value);
    return text;
  };
  UrlParts parts{part(CURLUPART_URL), lower(part(CURLUPART_SCHEME)), lower(part(CURLUPART_HOST)),
                 part(CURLUPART_PORT, CURLU_DEFAULT_PORT)};
  parts.loopback = is_loopback(parts.host);
  if (parts.url.empty() || parts.host.empty() || !part(CURLUPART_USER).empty() ||
      !part(CURLUPART_PASSWORD).empty())
    return std::nullopt;
  return parts;
}

bool is_same_origin(const UrlParts& a, const UrlParts& b) {
  return a.scheme == b.scheme && a.host == b.host && a.port == b.port;
}

// Seconds from now; nothing where the header is malformed.
std::optional<int64_t> parse_retry_after(const std::string& value) {
  if (!value.empty() && value.size() <= 9 && value.find_first_not_of("0123456789") == std::string::npos)
    return std::atoll(value.c_str());
  const time_t when = curl_getdate(value.c_str(), nullptr);
  if (when == -1) return std::nullopt;
  return std::max<int64_t>(0, static_cast<int64_t>(when) - static_cast<int64_t>(std::time(nullptr)));
}

// Of an attempt that broke before the answer began.
bool is_lost_connection(CURLcode code) {
  return code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
         code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM;
}

std::string without_quotes(std::string etag) {
  if (etag.starts_with("W/")) etag.erase(0, 2);
  std::erase(etag, '"');
  return etag;
}

class CurlFetcher final : public HttpFetcher {
 public:
  CurlFetcher(UrlParts endpoint, std::string token)
      : endpoint_(std::move(endpoint)), token_(std::move(token)) {}
  ~CurlFetcher() override { curl_easy_cleanup(curl_); }

  Status open() {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    curl_ = curl_easy_init();
    if (curl_ == nullptr) return fail(ErrorCode::kResourceExhausted, "cannot start libcurl");
    return {};
  }

  bool is_transfer_cut() const override { return cut_; }

  Status get(const FetchRequest& request, const OnHead& on_head, const OnBody& on_body) override {
    cut_ = false;
    head_ = {};
    on_head_ = &on_head;
    on_body_ = &on_body;
    auto url = parse_url("", request.url);
    for (int hop = 0; hop <= kMaxRedirects; ++hop) {
      if (!url) return fail(ErrorCode::kUnsupported, "malformed URL \"{}\"", request.url);
      EDGE_INFER_RETURN_IF_ERROR(check(*url));
      EDGE_INFER_ASSIGN(const bool redirected, perform(*url, request));
      if (!redirected) return {};
      const std::string location = head_.headers["location"];
      if (location.empty())
        return fail(ErrorCode::kIoError, "redirect without a Location from {}", url->host);
      const std::string from = url->url;
      url = parse_url(from, location);
      if (!url)
        return fail(ErrorCode::kUnsupported, "redirect to the malformed URL \"{}\"", location.substr(0, 200));
    }
    return fail(ErrorCode::kIoError, "more than {} redirects from \"{}\"", kMaxRedirects, request.url);
  }

 private:
  Status check(const UrlParts& url) const {
    if (url.scheme == "https") return {};
    if (url.scheme == "http" && url.loopback && endpoint_.loopback) return {};
    return fail(ErrorCode::kUnsupported, "refusing to follow to \"{}\": expected https",
                url.url.substr(0, 200));
  }

  // True: a redirect, with head_ saying where to.
  Result<bool> perform(const UrlParts& url, const FetchRequest& request) {
    curl_easy_reset(curl_);
    body_started_ = redirected_ = false;
    failure_ = {};
    curl_slist* list = nullptr;
    for (const auto& [name, value] : request.headers)
      list = curl_slist_append(list, (name + ": " + value).c_str());
    if (!token_.empty() && is_same_origin(url, endpoint_))
      list = curl_slist_append(list, ("Authorization: Bearer " + token_).c_str());
    const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(list, curl_slist_free_all);
    char message[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(curl_, CURLOPT_URL, url.url.c_str());
    curl_easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, "https,http");
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(curl_, CURLOPT_USERAGENT, "edge-infer/" EDGE_INFER_VERSION);
    curl_easy_setopt(curl_, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    curl_easy_setopt(curl_, CURLOPT_LOW_SPEED_LIMIT, kStalledBytesPerSecond);
    curl_easy_setopt(curl_, CURLOPT_LOW_SPEED_TIME, kStalledSeconds);
    curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, message);
    curl_easy_setopt(curl_, CURLOPT_HEADERFUNCTION, &CurlFetcher::receive_header);
    curl_easy_setopt(curl_, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &CurlFetcher::receive_body);
    curl_easy_setopt(curl_, CURLOPT_WRITEDATA, this);
    if (url.loopback) curl_easy_setopt(curl_, CURLOPT_PROXY, "");
    const CURLcode code = curl_easy_perform(curl_);
    if (!failure_) return std::unexpected(failure_.error());
    if (code != CURLE_OK) {
      cut_ = body_started_ || is_lost_connection(code);
      return describe(code, message, url);
    }
    if (!redirected_) EDGE_INFER_RETURN_IF_ERROR(start_body());  // an answer without a body
    return redirected_;
  }

  std::unexpected<Error> describe(CURLcode code, const char* message, const UrlParts& url) const {
    const std::string reason = *message != '\0' ? message : curl_easy_strerror(code);
    switch (code) {
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_RESOLVE_PROXY:
      case CURLE_COULDNT_CONNECT:
        return fail(ErrorCode::kIoError, "cannot reach host {}: offline? ({})", url.host, reason);
      case CURLE_OPERATION_TIMEDOUT:
        if (!body_started_)
          return fail(ErrorCode::kIoError, "cannot reach host {}: offline? ({})", url.host, reason);
        return fail(ErrorCode::kIoError, "{} sends no more: {}", url.host, reason);
      case CURLE_PEER_FAILED_VERIFICATION:
        return fail(ErrorCode::kIoError, "the certificate of {} is not trusted: {}", url.host, reason);
      default:
        return fail(ErrorCode::kIoError, "transfer from {} failed: {}", url.host, reason);
    }
  }

  static size_t receive_header(char* data, size_t size, size_t count, void* self) {
    static_cast<CurlFetcher*>(self)->header(std::string_view(data, size * count));
    return size * count;
  }
  void header(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    if (line.starts_with("HTTP/")) {
      head_.headers.clear();
      framed_by_protocol_ = line.starts_with("HTTP/2") || line.starts_with("HTTP/3");
      const size_t space = line.find(' ');
      head_.status =
          space == std::string_view::npos ? 0 : std::atoi(std::string(line.substr(space + 1, 3)).c_str());
      redirected_ = head_.status == 301 || head_.status == 302 || head_.status == 303 ||
                    head_.status == 307 || head_.status == 308;
      return;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || head_.headers.size() > 200) return;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
    const std::string name = lower(std::string(line.substr(0, colon)));
    if (name == "x-linked-etag" && head_.linked_etag.empty())
      head_.linked_etag = without_quotes(std::string(value));
    if (name == "etag" && head_.etag.empty()) head_.etag = without_quotes(std::string(value));
    head_.headers[name] = value;
  }

  Status start_body() {
    if (body_started_) return {};
    body_started_ = true;
    const std::string coding = lower(head_.headers["transfer-encoding"]);
    head_.has_end =
        framed_by_protocol_ || head_.headers.contains("content-length") || coding.ends_with("chunked");
    head_.retry_after_s = parse_retry_after(head_.headers["retry-after"]);
    return (*on_head_)(head_);
  }
  static size_t receive_body(char* data, size_t size, size_t count, void* self) {
    auto& fetcher = *static_cast<CurlFetcher*>(self);
    if (fetcher.redirected_) return size * count;
    fetcher.failure_ = fetcher.start_body();
    if (fetcher.failure_ && (fetcher.head_.status == 200 || fetcher.head_.status == 206))
      fetcher.failure_ = (*fetcher.on_body_)(std::string_view(data, size * count));
    return fetcher.failure_ ? size * count : 0;
  }

  const UrlParts endpoint_;
  const std::string token_;
  CURL* curl_ = nullptr;
  FetchHead head_;
  const OnHead* on_head_ = nullptr;
  const OnBody* on_body_ = nullptr;
  Status failure_;
  bool body_started_ = false, redirected_ = false, cut_ = false, framed_by_protocol_ = false;
};

}  // namespace

Result<std::unique_ptr<HttpFetcher>> HttpFetcher::create(const std::string& endpoint,
                                                         const std::string& token) {
  auto parts = parse_url("", endpoint);
  if (!parts || !(parts->scheme == "https" || (parts->scheme == "http" && parts->loopback)))
    return fail(ErrorCode::kInvalidArgument,
                "endpoint \"{}\": expected https://HOST, or http:// of a loopback address", endpoint);
  auto fetcher = std::make_unique<CurlFetcher>(*std::move(parts), token);
  EDGE_INFER_RETURN_IF_ERROR(fetcher->open());
  return fetcher;
}

}  // namespace edge_infer
