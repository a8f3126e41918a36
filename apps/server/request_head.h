// What the service needs of a parsed HTTP head, and the heads that are refused before anything else is asked
// of them, since two readers could take them for different requests.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <optional>

#include "apps/server/http_message.h"

namespace edge_infer {

using ParsedHead = boost::beast::http::header<true, boost::beast::http::fields>;

// `target` is the request's target, split. Of a header that is there more than once the first value counts:
// see check_unambiguous.
RequestHead read_head(const ParsedHead& parsed, RequestTarget target);

// The refusal of a head that does not say where its request ends: a transfer coding that is not "chunked"
// alone, or one in HTTP/1.0. What follows such a head must not be read as a request.
std::optional<ApiError> check_framing(const ParsedHead& parsed);

// The refusal of a head with more than one value where the answer depends on a single one (RFC 9110, 5.3):
// Host, Origin, Content-Type and the like.
std::optional<ApiError> check_unambiguous(const ParsedHead& parsed);

}  // namespace edge_infer
