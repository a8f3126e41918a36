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

TEST(Access, keys_compare_whole) {
  EXPECT_TRUE(constant_time_equal("abc", "abc"));
  EXPECT_FALSE(constant_time_equal("abcabc", "abc"));
  EXPECT_FALSE(constant_time_equal("ab", "abc"));
  EXPECT_FALSE(constant_time_equal("", "abc"));
  EXPECT_TRUE(constant_time_equal("", ""));
}

TEST(Targets, path_is_decoded_and_cut) {
  EXPECT_EQ(target_path("/v1/models/a%2Fb?x=1#y"), "/v1/models/a/b");
  EXPECT_EQ(target_path("http://localhost:8080/health"), "/health");
  EXPECT_EQ(target_path("http://localhost"), "/");
  EXPECT_EQ(target_path("/%zz"), std::nullopt);
  EXPECT_EQ(target_path("/%2"), std::nullopt);
  EXPECT_EQ(target_path("*"), std::nullopt);
  EXPECT_EQ(target_path(""), std::nullopt);
}

}  // namespace
}  // namespace edge_infer
