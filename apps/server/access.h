// Who may talk to the server. On loopback the browser is the adversary: a page of another site reaches
// 127.0.0.1 by DNS rebinding (its own name in Host) or by cross-site requests (its own name in Origin, a
// content type that needs no preflight). On any other address a key is required.
#pragma once

#include <optional>
#include <string>

#include "apps/server/http_message.h"
#include "runtime/base/error.h"

namespace edge_infer {

struct AccessPolicy {
  bool loopback = true;   // bound to a loopback address: only loopback names pass as Host
  std::string bind_host;  // as the user gave it; passes as Host too
  std::string api_key;    // empty: none asked for
};

// The refusal of a request that the policy forbids, judged by its head alone: 400 (no Host), 403 (foreign
// Host or Origin), 401 (key). GET and HEAD of /health need no key.
std::optional<ApiError> check_access(const AccessPolicy& policy, const RequestHead& head);

// "localhost", 127.0.0.0/8 or [::1], with or without a port.
bool is_loopback_authority(const std::string& authority);

// Equality in a time that depends on the length of `given` only.
bool constant_time_equal(const std::string& given, const std::string& secret);

// Whether clients can send `key` as "Authorization: Bearer KEY". Errors: kInvalidArgument, without the key.
Status check_api_key(const std::string& key);

// True for "application/json" with any parameters, in any case.
bool is_json_content_type(const std::string& content_type);
// True for "identity" in any case, and for nothing.
bool is_identity_encoding(const std::string& content_encoding);

}  // namespace edge_infer
