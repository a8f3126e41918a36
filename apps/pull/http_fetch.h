// GET through libcurl, with the redirect policy of pull: https only; plain http from and to loopback
// addresses, where the endpoint itself is one (tests, mirrors on this machine).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace edge_infer {

struct FetchRequest {
  std::string url;
  std::map<std::string, std::string> headers;  // sent to every hop
};

struct FetchHead {
  int status = 0;
  std::map<std::string, std::string> headers;  // of the last hop, lower-case names
  // x-linked-etag and etag of the first hop that had them, without quotes: hubs name a large file's hash
  // before they redirect to where it is stored.
  std::string linked_etag, etag;
  // The body's end can be told from a lost connection: it has a length, or is sent in frames.
  bool has_end = false;
  std::optional<int64_t> retry_after_s;  // of Retry-After, also where that is a date
};

class HttpFetcher {
 public:
  // `endpoint` is "https://host[/path]" or "http://LOOPBACK[:port][/path]"; `token` (may be empty) is sent as
  // Bearer to the endpoint's own origin (scheme, host and port) only. Errors: kInvalidArgument.
  static Result<std::unique_ptr<HttpFetcher>> create(const std::string& endpoint, const std::string& token);
  virtual ~HttpFetcher() = default;

  // Called once before the body; an error ends the fetch with it.
  using OnHead = std::function<Status(const FetchHead&)>;
  // A piece of the body of a 200 or 206.
  using OnBody = std::function<Status(std::string_view)>;

  // Follows at most 5 redirects. Any status is a success here; bodies of other statuses than 200 and 206 are
  // dropped. Errors: kIoError (offline: says that the host cannot be reached; transfer broken:
  // is_transfer_cut() holds after), kUnsupported (a redirect off https), and what the callbacks return.
  virtual Status get(const FetchRequest& request, const OnHead& on_head, const OnBody& on_body) = 0;
  // The last get() lost its connection before the answer's end: asking again, for the rest, may succeed.
  virtual bool is_transfer_cut() const = 0;
};

}  // namespace edge_infer
