#include <thread>

#include "tests/unit/server/server_fixture.h"

namespace edge_infer::testing {
namespace {

using Faults = ServerTest;
using std::chrono::milliseconds;

TEST_F(Faults, after_each_bad_body_a_good_request_succeeds_at_once) {
  ServerOptions options = defaults();
  options.service.body_limit = size_t{1} << 20;
  start(std::move(options));
  for (const char* body : {"{}", R"({"input":[]})", R"({"input":null})", R"({"input":[1.5]})"}) {
    Client client(port());
    const Answer answer = client.post("/v1/embeddings", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(parse(answer)["error"]["param"], "input") << body;
    EXPECT_EQ(client.post("/v1/embeddings", R"({"input":"same connection"})").status, 200);
    expect_good_request();
  }
  {
    Client client(port());
    client.send(
        "POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        "application/json\r\nContent-Length: 100\r\n\r\n{\"inp");
    client.half_close();
    const Answer answer = client.receive();
    EXPECT_EQ(answer.status, 400);
    EXPECT_EQ(parse(answer)["error"]["code"], "incomplete_body");
    expect_good_request();
  }
  {
    Client client(port());
    client.send(
        "POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        "application/json\r\nContent-Length: 100\r\n\r\n{\"inp");
    client.close();
    expect_good_request();
  }
  {
    Client client(port());
    client.send(Client::request("POST", "/v1/embeddings",
                                R"({"input":")" + std::string(size_t{9} << 20, 'x') + "\"}"));
    const Answer answer = client.receive();
    EXPECT_EQ(answer.status, 413);
    expect_good_request();
  }
}

TEST_F(Faults, a_failing_request_harms_no_other_of_its_batch) {
  start();
  embedder_.close_gate();
  Client blocker(port());
  blocker.send(Client::request("POST", "/v1/embeddings", R"({"input":"blocker"})"));
  embedder_.wait_until_held();
  // These wait for the same batch; token id 3 makes the model fail.
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(std::make_unique<Client>(port()));
    const std::string input = i == 2 ? "[1,3,2]" : "[\"text " + std::to_string(i) + "\"]";
    clients.back()->send(Client::request("POST", "/v1/embeddings", "{\"input\":" + input + "}"));
  }
  ASSERT_TRUE(metric_appears("te_queue_size 5"));
  embedder_.open_gate();
  for (int i = 0; i < 5; ++i) {
    const Answer answer = clients[static_cast<size_t>(i)]->receive();
    if (i == 2) {
      EXPECT_EQ(answer.status, 500);
      continue;
    }
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(vector_of(parse(answer)["data"][0]["embedding"]), expected("text " + std::to_string(i)));
  }
  EXPECT_NE(Client(port()).get("/metrics").body.find("edge_infer_batches_retried_total 1"),
            std::string::npos);
}

TEST_F(Faults, a_failure_of_the_model_that_would_repeat_is_no_5xx_and_names_no_file) {
  start();
  const struct {
    int32_t id;
    int status;
    const char* code;
  } rows[] = {{kReportedNan, 422, "embedding_not_finite"},
              {kSilentNan, 422, "embedding_not_finite"},
              {kCannot, 422, "unsupported_input"},
              {kPoison, 500, "internal_error"}};
  for (const auto& row : rows)
    for (const char* route : {"/v1/embeddings", "/embed"}) {
      const std::string key = route == std::string("/embed") ? "inputs" : "input";
      Client client(port());
      const Answer answer = client.post(route, "{\"" + key + "\":[[1," + std::to_string(row.id) + ",2]]}");
      EXPECT_EQ(answer.status, row.status) << row.id << answer.body;
      EXPECT_EQ(parse(answer)["error"]["code"], row.code) << answer.body;
      EXPECT_EQ(answer.body.find("secret"), std::string::npos) << answer.body;
    }
  expect_good_request();
  embedder_.broken = true;
  const Answer health = Client(port()).get("/health");
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(parse(health)["error"]["code"], "unhealthy");
  EXPECT_NE(health.body.find("not finite"), std::string::npos) << health.body;
  EXPECT_EQ(health.body.find("secret"), std::string::npos) << health.body;
}

TEST_F(Faults, requests_that_wait_share_one_batch_of_bounded_tokens) {
  start();
  embedder_.close_gate();
  Client blocker(port());
  blocker.send(Client::request("POST", "/v1/embeddings", R"({"input":"blocker"})"));
  embedder_.wait_until_held();
  std::vector<std::unique_ptr<Client>> clients;
  const std::string text(38, 'x');  // 40 tokens: six fit 256
  for (int i = 0; i < 12; ++i) {
    clients.push_back(std::make_unique<Client>(port()));
    clients.back()->send(Client::request("POST", "/v1/embeddings", R"({"input":")" + text + "\"}"));
  }
  ASSERT_TRUE(metric_appears("te_queue_size 12"));
  const int before = embedder_.calls;
  embedder_.open_gate();
  for (auto& client : clients) EXPECT_EQ(client->receive().status, 200);
  EXPECT_EQ(embedder_.calls, before + 2);
  EXPECT_LE(embedder_.largest_batch, FakeEmbedder::kMaxBatchTokens);
}

TEST_F(Faults, a_large_request_does_not_hold_up_a_small_one) {
  start();
  embedder_.microseconds_per_token = 20;
  std::string inputs;
  for (int i = 0; i < 1500; ++i) inputs += (i == 0 ? "\"" : ",\"") + std::string(50, 'x') + "\"";
  Client large(port());
  large.send(Client::request("POST", "/v1/embeddings", "{\"input\":[" + inputs + "]}"));
  while (embedder_.texts_embedded < 20) std::this_thread::sleep_for(milliseconds(1));
  expect_good_request();
  EXPECT_LT(embedder_.texts_embedded, 1000);
  EXPECT_EQ(large.receive().status, 200);
}

TEST_F(Faults, a_full_queue_is_429_with_retry_after) {
  ServerOptions options = defaults();
  options.service.batching.queue_texts = 2;
  start(std::move(options));
  embedder_.close_gate();
  Client running(port()), waiting(port()), refused(port());
  running.send(Client::request("POST", "/v1/embeddings", R"({"input":"a"})"));
  embedder_.wait_until_held();
  waiting.send(
      Client::request("POST", "/v1/embeddings", R"({"input":["a","b","c"]})"));  // an empty queue takes any
  ASSERT_TRUE(metric_appears("te_queue_size 3"));
  const Answer answer = refused.post("/v1/embeddings", R"({"input":"d"})");
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.headers.at("retry-after"), "1");
  EXPECT_EQ(parse(answer)["error"]["code"], "rate_limit_exceeded");
  embedder_.open_gate();
  EXPECT_EQ(running.receive().status, 200);
  EXPECT_EQ(waiting.receive().status, 200);
  EXPECT_EQ(refused.post("/v1/embeddings", R"({"input":"d"})").status, 200);
}

TEST_F(Faults, the_work_of_a_client_that_left_is_dropped) {
  start();
  embedder_.close_gate();
  Client running(port());
  running.send(Client::request("POST", "/v1/embeddings", R"({"input":"a"})"));
  embedder_.wait_until_held();
  std::string inputs;
  for (int i = 0; i < 500; ++i) inputs += (i == 0 ? "\"" : ",\"") + std::string(50, 'x') + "\"";
  {
    Client leaving(port());
    leaving.send(Client::request("POST", "/v1/embeddings", "{\"input\":[" + inputs + "]}"));
    ASSERT_TRUE(metric_appears("te_queue_size 500"));
  }
  ASSERT_TRUE(metric_appears("te_queue_size 0"));
  embedder_.open_gate();
  EXPECT_EQ(running.receive().status, 200);
  EXPECT_LT(embedder_.texts_embedded, 10);
  EXPECT_NE(Client(port()).get("/metrics").body.find("te_request_failure{err=\"dropped\"} 1"),
            std::string::npos);
}

TEST_F(Faults, a_half_closed_client_still_gets_a_small_answer) {
  start();
  Client client(port());
  client.send(Client::request("POST", "/v1/embeddings", R"({"input":"a"})"));
  client.half_close();
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(Faults, slow_heads_and_bodies_time_out_without_holding_up_others) {
  ServerOptions options = defaults();
  options.header_timeout = milliseconds(300);
  options.body_timeout = milliseconds(300);
  options.idle_timeout = milliseconds(300);
  start(std::move(options));
  Client head(port()), body(port()), idle(port());
  head.send("GET /health HTTP/1.1\r\nHost: loc");
  body.send(
      "POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "50\r\n\r\n{");
  expect_good_request();
  EXPECT_TRUE(head.closed_by_server());
  EXPECT_TRUE(body.closed_by_server());
  EXPECT_TRUE(idle.closed_by_server());
  expect_good_request();
}

// Sends a byte each 50 ms until the server closes; the seconds that took, or 20.
double seconds_until_closed(Client& client) {
  const auto begin = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  while (spent() < 20 && !client.closed_by_server(50)) client.send("x");
  return spent();
}

TEST_F(Faults, the_time_of_a_head_runs_from_its_first_byte) {
  ServerOptions options = defaults();
  options.header_timeout = milliseconds(300);
  start(std::move(options));
  Client stalled(port()), dribbling(port()), idle(port()), second(port()), pipelined(port());
  stalled.send("GET /health HTTP/1.1\r\nX: ");
  EXPECT_TRUE(stalled.closed_by_server(10'000));
  dribbling.send("G");
  EXPECT_LT(seconds_until_closed(dribbling), 10);
  EXPECT_EQ(second.get("/v1/models").status, 200);
  second.send("GET /health HTTP/1.1\r\nX: ");
  EXPECT_LT(seconds_until_closed(second), 10);
  pipelined.send("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\nGET /heal");
  EXPECT_EQ(pipelined.receive().status, 200);
  EXPECT_TRUE(pipelined.closed_by_server(10'000));
  // Longer than a head may take: the time between requests is another.
  EXPECT_EQ(idle.get("/v1/models").status, 200);
}

TEST_F(Faults, the_time_of_a_body_is_one_for_all_of_it) {
  ServerOptions options = defaults();
  options.body_timeout = milliseconds(300);
  start(std::move(options));
  Client client(port());
  client.send(
      "POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "5000\r\n\r\n{");
  EXPECT_LT(seconds_until_closed(client), 10);
}

TEST_F(Faults, an_idle_connection_has_its_own_time) {
  ServerOptions options = defaults();
  options.idle_timeout = milliseconds(1500);
  start(std::move(options));
  Client slow(port());
  slow.send("GET /v1/models HTTP/1.1\r\n");
  Client used(port());
  EXPECT_EQ(used.get("/v1/models").status, 200);
  Client fresh(port());
  EXPECT_TRUE(fresh.closed_by_server(10'000));
  EXPECT_TRUE(used.closed_by_server(10'000));
  slow.send("Host: localhost\r\n\r\n");
  EXPECT_EQ(slow.receive().status, 200);
}

TEST_F(Faults, connections_beyond_the_limit_are_told_so) {
  ServerOptions options = defaults();
  options.max_connections = 2;
  start(std::move(options));
  Client one(port()), two(port());
  EXPECT_EQ(one.get("/v1/models").status, 200);
  EXPECT_EQ(two.get("/v1/models").status, 200);
  {
    Client three(port());
    const Answer answer = three.receive();
    EXPECT_EQ(answer.status, 503);
    EXPECT_TRUE(answer.headers.contains("retry-after"));
    EXPECT_TRUE(three.closed_by_server());
  }
  one.close();
  Answer answer;
  for (int attempt = 0; attempt < 100 && answer.status != 200; ++attempt) {
    Client again(port());
    answer = again.get("/v1/models");
  }
  EXPECT_EQ(answer.status, 200);
}

TEST_F(Faults, bodies_read_at_once_have_a_common_budget) {
  ServerOptions options = defaults();
  options.body_budget = size_t{1} << 20;
  start(std::move(options));
  const std::string half(size_t{800} << 10, 'x');
  const std::string request = Client::request("POST", "/embed", "{\"inputs\":\"" + half + "\"}");
  Client one(port()), two(port());
  one.send(std::string_view(request).substr(0, request.size() - 2));
  const std::string all = "edge_infer_body_bytes " + std::to_string(half.size() + 11);
  ASSERT_TRUE(metric_appears(all));
  two.send(request);
  EXPECT_EQ(two.receive().status, 429);
  one.send(std::string_view(request).substr(request.size() - 2));
  EXPECT_EQ(one.receive().status, 200);
  Client three(port());
  three.send(request);
  EXPECT_EQ(three.receive().status, 200);
}

TEST_F(Faults, pipelined_requests_are_answered_in_order) {
  start();
  Client client(port());
  std::string all;
  for (int i = 0; i < 20; ++i)
    all += Client::request("POST", "/v1/embeddings", "{\"input\":\"text " + std::to_string(i) + "\"}");
  client.send(all);
  for (int i = 0; i < 20; ++i) {
    const Answer answer = client.receive();
    ASSERT_EQ(answer.status, 200);
    EXPECT_EQ(vector_of(parse(answer)["data"][0]["embedding"]), expected("text " + std::to_string(i)));
  }
}

TEST_F(Faults, a_request_in_pieces_and_in_chunks_is_one_request) {
  start();
  Client client(port());
  const std::string request = Client::request("POST", "/v1/embeddings", R"({"input":"a"})");
  for (const char c : request) {
    client.send(std::string_view(&c, 1));
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  EXPECT_EQ(client.receive().status, 200);
  client.send(
      "POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
      "chunked\r\n\r\n"
      "5\r\n{\"inp\r\n9\r\nuts\":\"a\"}\r\n0\r\n\r\n");
  const Answer answer = client.receive();
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(vector_of(parse(answer)[0]), expected("a"));
}

TEST_F(Faults, expect_continue_is_answered_before_the_body) {
  start();
  Client client(port());
  client.send(
      "POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "14\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  client.send(R"({"inputs":"a"})");
  EXPECT_EQ(client.receive().status, 200);
}

}  // namespace
}  // namespace edge_infer::testing
