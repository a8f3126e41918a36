#include "apps/server/access.h"

#include <gtest/gtest.h>

namespace edge_infer {
namespace {

int status(const AccessPolicy& policy, const RequestHead& head) {
  const auto refusal = check_access(policy, head);
  return refusal ? refusal->status : 200;
}

RequestHead request(std::optional<std::string> host, std::optional<std::string> origin = std::nullopt) {
  RequestHead head;
  head.method = "POST";
  head.path = "/v1/embeddings";
  head.host = std::move(host);
  head.origin = std::move(origin);
  return head;
}

TEST(Access, loopback_takes_loopback_names_only) {
  const AccessPolicy policy{true, "127.0.0.1", ""};
  for (const char* host :
       {"localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8080", "127.1.2.3:5"})
    EXPECT_EQ(status(policy, request(host)), 200) << host;
  for (const char* host : {"evil.example", "localhost.evil.example:8080", "127.0.0.1.evil.example",
                           "10.0.0.1", "evil.example:8080", "127.evil.0.1", "0.0.0.0"})
    EXPECT_EQ(status(policy, request(host)), 403) << host;
  for (const char* host : {"", ":80", "[::1", "localhost:", "localhost:80:80", "[::1]x", "localhost:8a"})
    EXPECT_EQ(status(policy, request(host)), 400) << host;
}

TEST(Access, a_request_without_host_passes_only_as_http_1_0) {
  const AccessPolicy policy{true, "127.0.0.1", ""};
  RequestHead head = request(std::nullopt);
  EXPECT_EQ(status(policy, head), 400);
  head.http_1_0 = true;
  EXPECT_EQ(status(policy, head), 200);
}

TEST(Access, pages_of_other_sites_are_refused) {
  const AccessPolicy policy{true, "127.0.0.1", ""};
  for (const char* origin : {"http://localhost:3000", "http://127.0.0.1", "https://[::1]:8443"})
    EXPECT_EQ(status(policy, request("localhost", origin)), 200) << origin;
  for (const char* origin : {"http://evil.example", "null", "", "file://", "http://localhost.evil.example",
                             "chrome-extension://abc", "https://localhost@evil.example"})
    EXPECT_EQ(status(policy, request("localhost", origin)), 403) << origin;
  RequestHead head = request("localhost");
  head.fetch_site = "cross-site";
  EXPECT_EQ(status(policy, head), 403);
}

TEST(Access, a_key_is_asked_for_everywhere_but_at_health) {
  const AccessPolicy policy{false, "0.0.0.0", "secret"};
  RequestHead head = request("server.lan:8080");
  EXPECT_EQ(status(policy, head), 401);
  for (const char* wrong :
       {"secret", "Bearer secre", "Bearer secretx", "Basic secret", "Bearer ", "Bearer"}) {
    head.authorization = wrong;
    EXPECT_EQ(status(policy, head), 401) << wrong;
  }
  head.authorization = "Bearer secret";
  EXPECT_EQ(status(policy, head), 200);
  head.authorization = "bearer secret";
  EXPECT_EQ(status(policy, head), 200);
  head = request("server.lan");
  head.method = "GET";
  head.path = "/health";
  EXPECT_EQ(status(policy, head), 200);
  head.method = "HEAD";
  EXPECT_EQ(status(policy, head), 200);
  head.path = "/metrics";
  EXPECT_EQ(status(policy, head), 401);
}

TEST(Access, json_content_types) {
  EXPECT_TRUE(is_json_content_type("application/json"));
  EXPECT_TRUE(is_json_content_type("Application/JSON ; charset=utf-8"));
  EXPECT_FALSE(is_json_content_type("text/plain"));
  EXPECT_FALSE(is_json_content_type("application/jsonp"));
  EXPECT_FALSE(is_json_content_type("text/plain; application/json"));
  EXPECT_FALSE(is_json_content_type(""));
}

TEST(Access, only_the_identity_encoding_is_none) {
  EXPECT_TRUE(is_identity_encoding(""));
  EXPECT_TRUE(is_identity_encoding("Identity"));
  EXPECT_FALSE(is_identity_encoding("gzip"));
  EXPECT_FALSE(is_identity_encoding("identity, gzip"));
}

TEST(Access, keys_compare_whole) {
  EXPECT_TRUE(constant_time_equal("abc", "abc"));
  EXPECT_FALSE(constant_time_equal("abcabc", "abc"));
  EXPECT_FALSE(constant_time_equal("ab", "abc"));
  EXPECT_FALSE(constant_time_equal("", "abc"));
  EXPECT_TRUE(constant_time_equal("", ""));
}

TEST(Access, the_authority_of_an_absolute_target_counts_as_host) {
  const AccessPolicy loopback{true, "127.0.0.1", ""};
  RequestHead head = request("localhost");
  for (const char* authority : {"localhost", "127.0.0.1:8080"}) {
    head.authority = authority;
    EXPECT_EQ(status(loopback, head), 200) << authority;
  }
  for (const char* authority : {"evil.example", "evil.example:8080", "localhost@evil.example"}) {
    head.authority = authority;
    EXPECT_EQ(status(loopback, head), 403) << authority;
  }
  for (const char* authority : {"", "localhost:80@evil.example"}) {
    head.authority = authority;
    EXPECT_EQ(status(loopback, head), 400) << authority;
  }
  head = request("evil.example");
  head.authority = "localhost";
  EXPECT_EQ(status(loopback, head), 403);
  head = request(std::nullopt);
  head.authority = "localhost";
  EXPECT_EQ(status(loopback, head), 400);
  // A page of the site that the request names is of the same site.
  const AccessPolicy open{false, "0.0.0.0", ""};
  head = request("other.lan", "http://server.lan");
  head.authority = "server.lan:8080";
  EXPECT_EQ(status(open, head), 200);
}

TEST(Access, keys_that_no_header_can_carry_are_refused) {
  for (const char* key : {"k", "sk-abc_123.~+/=", "!\"#$%&'()*,:;<>?@[]^`{|}"})
    EXPECT_TRUE(check_api_key(key)) << key;
  EXPECT_TRUE(check_api_key(std::string(4096, 'k')));
  for (const std::string& key :
       {std::string(), std::string(" "), std::string("a b"), std::string("a "), std::string("a\n"),
        std::string("a\r\nX: y"), std::string("\t"), std::string("a\0b", 3), std::string("\x7f"),
        std::string("schl\xc3\xbcssel"), std::string(4097, 'k')}) {
    const Status checked = check_api_key(key);
    ASSERT_FALSE(checked) << key;
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(check_api_key("s3cret \n").error().message.find("s3cret"), std::string::npos);
}

TEST(Targets, path_is_decoded_and_cut) {
  const auto path = [](const char* target) { return parse_target(target).value().path; };
  const auto authority = [](const char* target) { return parse_target(target).value().authority; };
  EXPECT_EQ(path("/v1/models/a%2Fb?x=1#y"), "/v1/models/a/b");
  EXPECT_EQ(authority("/v1/models/http://evil.example/"), std::nullopt);
  EXPECT_EQ(path("/v1/models/http://evil.example/"), "/v1/models/http://evil.example/");
  EXPECT_EQ(path("http://localhost:8080/health"), "/health");
  EXPECT_EQ(authority("http://localhost:8080/health"), "localhost:8080");
  EXPECT_EQ(authority("HTTPS://user@Evil.example/health"), "user@Evil.example");
  EXPECT_EQ(path("http://localhost"), "/");
  EXPECT_EQ(authority("http://localhost?x=/health"), "localhost");
  EXPECT_EQ(path("http://localhost?x=/health"), "/");
  EXPECT_EQ(authority("http:///health"), "");
  for (const char* malformed : {"/%zz", "/%2", "*", "", "localhost:80", "ftp://localhost/health", "health"})
    EXPECT_FALSE(parse_target(malformed)) << malformed;
}

}  // namespace
}  // namespace edge_infer
