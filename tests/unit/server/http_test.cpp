// What HTTP asks of any server: where a request ends, which of its headers count, HEAD.
#include "tests/unit/server/server_fixture.h"

namespace edge_infer::testing {
namespace {

using Http = ServerTest;

constexpr const char* kPost = "POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
constexpr const char* kBody = R"({"inputs":"a"})";

std::string with_body(const std::string& head) {
  const std::string body = kBody;
  return head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string in_chunks(const std::string& head) {
  return head + "\r\ne\r\n" + kBody + "\r\n0\r\n\r\n";
}

TEST_F(Http, head_answers_as_get_without_a_body) {
  start();
  Client client(port());
  for (const char* path : {"/v1/models", "/v1/models/owner/fake", "/v1/models/other", "/health"}) {
    const Answer get = client.get(path), head = client.head(path);
    EXPECT_EQ(head.status, get.status) << path;
    EXPECT_EQ(head.headers.at("content-type"), get.headers.at("content-type"));
    EXPECT_EQ(head.headers.at("content-length"), std::to_string(get.body.size())) << path;
  }
  EXPECT_EQ(client.head("/metrics").status, 200);
  EXPECT_EQ(client.head("/nothing").status, 404);
  const Answer refused = client.head("/v1/embeddings");
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.headers.at("allow"), "POST");
  EXPECT_EQ(client.post("/health", "").headers.at("allow"), "GET, HEAD");
  // No byte of a body is left on the connection.
  EXPECT_EQ(client.post("/embed", kBody).status, 200);
}

TEST_F(Http, what_follows_an_unreadable_coding_is_no_request) {
  start();
  const std::string smuggled = "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string& head : {
           std::string(kPost) + "Transfer-Encoding: gzip\r\n",
           std::string(kPost) + "Transfer-Encoding: gzip, chunked\r\n",
           std::string(kPost) + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
           std::string(kPost) + "Transfer-Encoding: chunked, chunked\r\n",
           std::string(kPost) + "Transfer-Encoding: identity\r\n",
           std::string(kPost) + "Transfer-Encoding:\r\n",
           std::string(kPost) + "Transfer-Encoding: gzip\r\nContent-Length: 5\r\n",
           std::string(
               "POST /embed HTTP/1.0\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"),
           std::string("GET /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n"),
           std::string("GET /nothing HTTP/1.1\r\nTransfer-Encoding: gzip\r\n"),
       }) {
    Client client(port());
    client.send(head + "\r\n" + smuggled);
    const Answer answer = client.receive();
    EXPECT_EQ(answer.status, 400) << head;
    EXPECT_EQ(parse(answer)["error"]["code"], "unsupported_transfer_encoding") << head << answer.body;
    EXPECT_EQ(client.receive().status, 0) << head;
    EXPECT_TRUE(client.closed_by_server()) << head;
  }
  for (const char* lengths :
       {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: +5\r\n", "Content-Length: 5 5\r\n", "Content-Length: -1\r\n"}) {
    Client client(port());
    client.send(kPost + std::string(lengths) + "\r\n" + smuggled);
    const Answer answer = client.receive();
    EXPECT_EQ(parse(answer)["error"]["code"], "malformed_request") << lengths << answer.body;
    EXPECT_EQ(client.receive().status, 0) << lengths;
    EXPECT_TRUE(client.closed_by_server()) << lengths;
  }
  for (const char* coding : {"chunked", "Chunked"}) {
    Client client(port());
    client.send(in_chunks(std::string(kPost) + "Transfer-Encoding: " + coding + "\r\n") + smuggled);
    EXPECT_EQ(client.receive().status, 200) << coding;
    EXPECT_EQ(client.receive().status, 200) << coding;
  }
}

TEST_F(Http, a_chunk_beyond_the_limit_is_refused_before_it_comes) {
  ServerOptions options = defaults();
  options.service.body_limit = 4096;
  start(std::move(options));
  const std::string head = std::string(kPost) + "Transfer-Encoding: chunked\r\n\r\n";
  for (const char* chunks : {"ffffffffffffffff\r\n", "1001\r\n", "e\r\n{\"inputs\":\"a\"}\r\nff3\r\n",
                             "e\r\n{\"inputs\":\"a\"}\r\nffffffffffffffff\r\n"}) {
    Client client(port());
    client.send(head + chunks);
    const Answer answer = client.receive();
    EXPECT_EQ(answer.status, 413) << chunks;
    EXPECT_EQ(parse(answer)["error"]["code"], "body_too_large") << chunks;
    EXPECT_EQ(answer.headers.at("connection"), "close") << chunks;
  }
  Client client(port());
  client.send(head + "10000000000000000\r\n");
  EXPECT_EQ(parse(client.receive())["error"]["code"], "malformed_body");
  // As much as the limit is taken.
  const std::string text(4096 - 13, 'x');
  Client whole(port());
  whole.send(head + "1000\r\n{\"inputs\":\"" + text + "\"}\r\n0\r\n\r\n");
  EXPECT_EQ(whole.receive().status, 200);
  expect_good_request();
}

TEST_F(Http, a_header_that_decides_is_there_once) {
  start();
  for (const char* second : {"Host: localhost", "Origin: http://localhost\r\nOrigin: http://evil.example",
                             "Content-Type: application/json", "Content-Type: text/plain",
                             "Authorization: Bearer a\r\nauthorization: Bearer b",
                             "Content-Encoding: identity\r\nContent-Encoding: gzip",
                             "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site"}) {
    Client client(port());
    client.send(with_body(kPost + std::string(second) + "\r\n"));
    const Answer answer = client.receive();
    EXPECT_EQ(answer.status, 400) << second;
    EXPECT_EQ(parse(answer)["error"]["code"], "duplicate_header") << second << answer.body;
    // The request ended where it said: the connection lives on.
    EXPECT_EQ(client.post("/embed", kBody).status, 200) << second;
  }
  Client client(port());
  client.send(with_body(std::string(kPost) + "X: a\r\nX: b\r\nAccept: a\r\nAccept: b\r\n"));
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(Http, the_authority_of_an_absolute_target_is_checked) {
  start();
  const auto post = [&](const std::string& target) {
    Client client(port());
    client.send(
        with_body("POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"));
    return client.receive();
  };
  EXPECT_EQ(post("http://localhost:1/embed").status, 200);
  EXPECT_EQ(post("HTTP://127.0.0.1/embed").status, 200);
  for (const char* target : {"http://evil.example/embed", "https://evil.example:80/embed"}) {
    const Answer answer = post(target);
    EXPECT_EQ(answer.status, 403) << target;
    EXPECT_EQ(parse(answer)["error"]["code"], "host_not_allowed") << answer.body;
  }
  EXPECT_EQ(parse(post("http:///embed"))["error"]["code"], "malformed_host");
  EXPECT_EQ(parse(post("ftp://localhost/embed"))["error"]["code"], "malformed_target");
}

TEST_F(Http, an_encoded_body_is_415) {
  start();
  Client client(port());
  for (const char* coding : {"gzip", "br", "identity, gzip", "x"}) {
    const Answer answer =
        client.post("/embed", "\x1f\x8b", "Content-Encoding: " + std::string(coding) + "\r\n");
    EXPECT_EQ(answer.status, 415) << coding;
    EXPECT_EQ(parse(answer)["error"]["code"], "unsupported_media_type");
    EXPECT_NE(answer.body.find("Content-Encoding"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(client.post("/embed", kBody, "Content-Encoding: identity\r\n").status, 200);
}

TEST_F(Http, every_request_that_was_handled_is_counted_once) {
  start();
  Client client(port());
  for (const char* body : {R"({"input":"a"})", R"({"input":["a","b"]})", R"({"input":["a",[1,99,2]]})", "{}",
                           "", R"({"input":[[1,4,2]]})", R"({"input":"a","prompt_name":"nope"})"})
    client.post("/v1/embeddings", body);
  client.post("/nothing", "{}");
  const std::string text = client.get("/metrics").body;
  const auto sum = [&](const std::string& name) {
    int total = 0;
    for (size_t at = text.find("\n" + name); at != std::string::npos; at = text.find("\n" + name, at + 1))
      total += std::stoi(text.substr(text.find(' ', at)));
    return total;
  };
  EXPECT_EQ(sum("te_request_success "), 3) << text;
  EXPECT_EQ(sum("te_request_failure{"), 4) << text;
  EXPECT_EQ(sum("te_request_count{"), 7) << text;
  EXPECT_NE(text.find("te_request_count{method=\"unread\"} 2\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace edge_infer::testing
