#include "tests/unit/server/server_fixture.h"

namespace edge_infer::testing {
namespace {

using Json = nlohmann::json;

std::vector<float> decode_base64(const std::string& text) {
  std::string bytes;
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    group = group << 6 | static_cast<uint32_t>(alphabet.find(c));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 255);
  }
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

using Routes = ServerTest;

TEST_F(Routes, embeddings_answer_in_openai_form_with_true_token_counts) {
  start();
  Client client(port());
  const Answer answer = client.post("/v1/embeddings", R"({"input":["one","three"],"model":"echo-me"})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.headers.at("content-type"), "application/json");
  EXPECT_TRUE(answer.headers.contains("x-request-id"));
  EXPECT_FALSE(answer.headers.contains("x-edge-truncated"));
  const Json json = parse(answer);
  EXPECT_EQ(json["model"], "echo-me");
  EXPECT_EQ(vector_of(json["data"][0]["embedding"]), expected("one"));
  EXPECT_EQ(vector_of(json["data"][1]["embedding"]), expected("three"));
  EXPECT_EQ(json["usage"]["prompt_tokens"], 3 + 5 + 4);
  const Answer alias = client.post("/embeddings?x=1", R"({"input":"one"})");
  EXPECT_EQ(parse(alias)["model"], "owner/fake");
  EXPECT_EQ(vector_of(parse(alias)["data"][0]["embedding"]), expected("one"));
}

TEST_F(Routes, base64_and_floats_are_the_same_bits) {
  start();
  Client client(port());
  const Json floats =
      parse(client.post("/v1/embeddings", R"({"input":["a","b"],"encoding_format":"float"})"));
  const Json base64 =
      parse(client.post("/v1/embeddings", R"({"input":["a","b"],"encoding_format":"base64"})"));
  for (const size_t i : {0u, 1u})
    EXPECT_EQ(vector_of(floats["data"][i]["embedding"]), decode_base64(base64["data"][i]["embedding"]));
  EXPECT_EQ(decode_base64(base64["data"][1]["embedding"]), expected("b"));
}

TEST_F(Routes, token_ids_are_taken_as_the_tokenizer_gives_them) {
  start();
  Client client(port());
  const auto a = static_cast<int>(10 + 'a');
  const std::string one = "[1," + std::to_string(a) + ",2]";
  for (const std::string& input : {one, "[" + one + "]"}) {
    const Answer answer = client.post("/v1/embeddings", "{\"input\":" + input + "}");
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(vector_of(parse(answer)["data"][0]["embedding"]), expected("a"));
  }
  const Answer foreign = client.post("/v1/embeddings", "{\"input\":[" + std::to_string(a) + "]}");
  EXPECT_EQ(foreign.status, 400);
  EXPECT_EQ(parse(foreign)["error"]["code"], "foreign_token_ids");
  EXPECT_EQ(client.post("/v1/embeddings", R"({"input":[1,300,2]})").status, 400);
}

TEST_F(Routes, dimensions_slice_then_normalize) {
  start();
  Client client(port());
  const auto whole = expected("text");
  const auto sliced = vector_of(
      parse(client.post("/v1/embeddings", R"({"input":"text","dimensions":4})"))["data"][0]["embedding"]);
  ASSERT_EQ(sliced.size(), 4u);
  double norm = 0;
  for (size_t i = 0; i < 4; ++i) norm += static_cast<double>(whole[i]) * static_cast<double>(whole[i]);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(sliced[i], static_cast<float>(static_cast<double>(whole[i]) / std::sqrt(norm)));
  const Answer full = client.post("/v1/embeddings", R"({"input":"text","dimensions":16})");
  EXPECT_EQ(vector_of(parse(full)["data"][0]["embedding"]), whole);
}

TEST_F(Routes, truncation_is_reported_or_refused) {
  start();
  Client client(port());
  const std::string text(100, 'x');
  const Answer cut = client.post("/v1/embeddings", "{\"input\":[\"a\",\"" + text + "\"]}");
  ASSERT_EQ(cut.status, 200);
  EXPECT_EQ(cut.headers.at("x-edge-truncated"), "1");
  EXPECT_EQ(parse(cut)["edge"]["truncated"], Json::parse(R"([{"index":1,"tokens":64,"tokens_total":102}])"));
  EXPECT_EQ(parse(cut)["usage"]["prompt_tokens"], 3 + 64);
  EXPECT_EQ(vector_of(parse(cut)["data"][1]["embedding"]), expected(text));
  const Answer refused = client.post("/embed", "{\"inputs\":\"" + text + "\",\"truncate\":false}");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(parse(refused)["error"]["code"], "context_length_exceeded");
  EXPECT_EQ(parse(refused)["error"]["param"], "inputs");
  EXPECT_NE(client.get("/metrics").body.find("edge_infer_truncated_inputs_total 1"), std::string::npos);
}

TEST_F(Routes, tei_embed_is_always_two_dimensional) {
  start();
  Client client(port());
  const Json one = parse(client.post("/embed", R"({"inputs":"a"})"));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(vector_of(one[0]), expected("a"));
  const Json two = parse(client.post("/embed", R"({"inputs":["a","b"],"truncate":true,"normalize":true})"));
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(vector_of(two[1]), expected("b"));
  const Json prompted = parse(client.post("/embed", R"({"inputs":"a","prompt_name":"query"})"));
  EXPECT_EQ(vector_of(prompted[0]), expected("a", "query: "));
  const Answer unknown = client.post("/embed", R"({"inputs":"a","prompt_name":"nope"})");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(parse(unknown)["error"]["param"], "prompt_name");
  const Answer unable = client.post("/embed", R"({"inputs":"a","prompt_name":"unable"})");
  EXPECT_EQ(unable.status, 400);
  EXPECT_EQ(parse(unable)["error"]["code"], "unsupported_prompt");
}

TEST_F(Routes, models_are_listed_and_found_by_id) {
  start();
  Client client(port());
  const Json list = parse(client.get("/v1/models"));
  EXPECT_EQ(list["object"], "list");
  EXPECT_EQ(list["data"][0]["id"], "owner/fake");
  EXPECT_EQ(list["data"][0]["object"], "model");
  EXPECT_EQ(parse(client.get("/v1/models/owner/fake"))["id"], "owner/fake");
  EXPECT_EQ(parse(client.get("/v1/models/owner%2Ffake"))["id"], "owner/fake");
  const Answer missing = client.get("/v1/models/other");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(parse(missing)["error"]["code"], "model_not_found");
}

TEST_F(Routes, health_runs_a_forward) {
  start();
  Client client(port());
  const int before = embedder_.calls;
  const Answer answer = client.get("/health");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(parse(answer)["status"], "ok");
  EXPECT_EQ(embedder_.calls, before + 1);
}

TEST_F(Routes, metrics_count_what_happened) {
  start();
  Client client(port());
  client.post("/v1/embeddings", R"({"input":["a","b"]})");
  client.post("/v1/embeddings", R"({"input":"a"})");
  client.post("/v1/embeddings", "{}");
  client.post("/v1/embeddings", R"({"input":[1.5]})");
  const std::string text = client.get("/metrics").body;
  for (const char* line : {"te_request_count{method=\"single\"} 1", "te_request_count{method=\"batch\"} 1",
                           "te_request_count{method=\"unread\"} 2", "te_request_success 2",
                           "te_request_failure{err=\"validation\"} 2", "te_embed_count 3",
                           "te_embed_success 3", "te_queue_size 0", "te_request_duration_count 2",
                           "te_batch_next_size_bucket{le=\"+Inf\"} 2", "edge_infer_tokens_total 9",
                           "edge_infer_http_responses_total{code=\"400\"} 2", "edge_infer_connections 1"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

TEST_F(Routes, every_refusal_is_a_nested_error_with_its_status) {
  ServerOptions options = defaults();
  options.service.body_limit = 4096;
  options.service.max_inputs = 8;
  start(std::move(options));
  const std::string good = R"({"input":"a"})", big = R"({"input":")" + std::string(5000, 'x') + "\"}";
  const std::string many = R"({"input":["1","2","3","4","5","6","7","8","9"]})";
  const auto plain = [&](const std::string& head, const std::string& body) {
    return head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  };
  const struct {
    std::string request;
    int status;
    const char* param;
    const char* code;
  } rows[] = {
      {Client::request("POST", "/v1/embeddings", "{}"), 400, "input", "missing_required_parameter"},
      {Client::request("POST", "/v1/embeddings", many), 400, "input", "too_many_inputs"},
      {Client::request("POST", "/nothing", good), 404, "", "not_found"},
      {Client::request("GET", "/v1/embeddings", ""), 405, "", "method_not_allowed"},
      {Client::request("DELETE", "/v1/models", ""), 405, "", "method_not_allowed"},
      {Client::request("POST", "/health", good), 405, "", "method_not_allowed"},
      {Client::request("POST", "/v1/embeddings", big), 413, "", "body_too_large"},
      {plain("POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\n", good), 415, "", "unsupported_media_type"},
      {plain("POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n", good), 415, "",
       "unsupported_media_type"},
      {plain("POST /embed HTTP/1.1\r\nContent-Type: application/json\r\n", good), 400, "", "missing_host"},
      {plain("POST /embed HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nContent-Type: "
             "application/json\r\n",
             good),
       400, "", "duplicate_header"},
      {plain("POST /embed HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\n", good), 403,
       "", "host_not_allowed"},
      {plain("POST /embed HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nContent-Type: "
             "application/json\r\n",
             good),
       403, "", "origin_not_allowed"},
      {"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "", "malformed_target"},
      {"NONSENSE\r\n\r\n", 400, "", "malformed_request"},
      {"GET / HTTP/3.7\r\n\r\n", 400, "", "malformed_request"},
      {"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", 400, "", "malformed_request"},
      {"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n", 431, "",
       "header_too_large"},
      {"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
       "chunked\r\n\r\nzz\r\n",
       400, "", "malformed_body"},
      {"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
       "chunked\r\n\r\n1388\r\n" +
           std::string(5000, 'x') + "\r\n0\r\n\r\n",
       413, "", "body_too_large"},
  };
  for (const auto& row : rows) {
    Client client(port());
    client.send(row.request);
    const Answer answer = client.receive();
    EXPECT_EQ(answer.status, row.status) << row.request.substr(0, 200) << answer.body;
    const Json error = parse(answer)["error"];
    EXPECT_EQ(error["code"], row.code) << answer.body;
    EXPECT_EQ(error["param"], *row.param == '\0' ? Json(nullptr) : Json(row.param));
    EXPECT_TRUE(error["message"].is_string());
    EXPECT_TRUE(error["type"].is_string());
    EXPECT_EQ(row.status == 405, answer.headers.contains("allow"));
  }
  expect_good_request();
}

TEST_F(Routes, a_small_refused_request_keeps_its_connection) {
  start();
  Client client(port());
  EXPECT_EQ(client.post("/nothing", R"({"input":"a"})").status, 404);
  EXPECT_EQ(client.post("/v1/embeddings", "{}").status, 400);
  EXPECT_EQ(client.post("/v1/embeddings", R"({"input":"a"})").status, 200);
}

TEST_F(Routes, a_plain_request_id_comes_back) {
  start();
  Client client(port());
  EXPECT_EQ(client.get("/v1/models", "x-request-id: abc-1.2\r\n").headers.at("x-request-id"), "abc-1.2");
  EXPECT_NE(client.get("/v1/models", "x-request-id: a b\"c\r\n").headers.at("x-request-id"), "a b\"c");
}

TEST_F(Routes, another_address_than_loopback_needs_a_key) {
  ServerOptions options = defaults();
  options.host = "0.0.0.0";
  const auto refused = Server::start(embedder_, options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("EDGE_INFER_API_KEY"), std::string::npos);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Server::check(options).error().code, ErrorCode::kInvalidArgument);
  options.service.access.api_key = "k3y\n";
  EXPECT_EQ(Server::check(options).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(Server::start(embedder_, options));
  options.service.access.api_key = "k3y";
  EXPECT_TRUE(Server::check(options));
  start(std::move(options));
  Client client(port());
  EXPECT_EQ(client.post("/v1/embeddings", R"({"input":"a"})").status, 401);
  EXPECT_EQ(client.post("/v1/embeddings", R"({"input":"a"})", "Authorization: Bearer k3y\r\n").status, 200);
  EXPECT_EQ(client.get("/health").status, 200);
}

TEST_F(Routes, a_taken_port_is_a_clear_error) {
  start();
  ServerOptions options = defaults();
  options.port = port();
  const auto second = Server::start(embedder_, options);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("in use"), std::string::npos) << second.error().message;
}

}  // namespace
}  // namespace edge_infer::testing
