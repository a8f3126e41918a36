#include <atomic>
#include <random>
#include <thread>

#include "tests/unit/server/server_fixture.h"

namespace edge_infer::testing {
namespace {

using Load = ServerTest;

TEST_F(Load, thirty_two_clients_with_mixed_sizes_get_the_bits_of_a_direct_call) {
  ServerOptions options = defaults();
  options.service.batching.dispatchers = 2;
  start(std::move(options));
  std::atomic<int> requests{0}, wrong{0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  std::vector<std::jthread> threads;
  for (unsigned seed = 0; seed < 32; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      Client client(port());
      while (std::chrono::steady_clock::now() < end) {
        nlohmann::json body;
        std::vector<std::string> texts(1 + random() % (random() % 8 == 0 ? 100 : 4));
        for (auto& text : texts)
          for (size_t i = random() % 80; i > 0; --i) text += static_cast<char>('a' + random() % 26);
        body["input"] = texts;
        const Answer answer = client.post("/v1/embeddings", body.dump());
        ++requests;
        const auto json = parse(answer);
        if (answer.status != 200 || json["data"].size() != texts.size()) {
          ++wrong;
          continue;
        }
        for (size_t i = 0; i < texts.size(); ++i)
          if (json["data"][i]["index"] != i || vector_of(json["data"][i]["embedding"]) != expected(texts[i]))
            ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(requests, 100);
  EXPECT_LE(embedder_.largest_batch, FakeEmbedder::kMaxBatchTokens);
}

TEST_F(Load, a_stop_answers_what_is_in_flight_and_refuses_the_rest) {
  start();
  embedder_.close_gate();
  Client busy(port()), idle(port());
  EXPECT_EQ(idle.get("/v1/models").status, 200);
  busy.send(Client::request("POST", "/v1/embeddings", R"({"input":["a","b"]})"));
  embedder_.wait_until_held();
  server_->request_stop();
  EXPECT_TRUE(idle.closed_by_server());
  EXPECT_FALSE(Client(port()).connected());
  embedder_.open_gate();
  const Answer answer = busy.receive();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("connection"), "close");
  server_->wait();
}

TEST_F(Load, a_stop_ends_within_the_grace_time_whatever_clients_do) {
  ServerOptions options = defaults();
  options.shutdown_grace = std::chrono::milliseconds(200);
  start(std::move(options));
  embedder_.microseconds_per_token = 100;
  Client slow(port()), large(port());
  slow.send("GET /health HTTP/1.1\r\nHos");
  std::string inputs;
  for (int i = 0; i < 2000; ++i) inputs += (i == 0 ? "\"" : ",\"") + std::string(50, 'x') + "\"";
  large.send(Client::request("POST", "/v1/embeddings", "{\"input\":[" + inputs + "]}"));
  while (embedder_.texts_embedded < 5) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto begin = std::chrono::steady_clock::now();
  server_->request_stop();
  server_->wait();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  EXPECT_LT(embedder_.texts_embedded, 2000);
}

TEST_F(Load, a_server_may_be_destroyed_while_clients_wait) {
  start();
  embedder_.microseconds_per_token = 50;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<Client>(port()));
    clients.back()->send(Client::request("POST", "/v1/embeddings", R"({"input":["a","b","c"]})"));
  }
  server_.reset();
  for (auto& client : clients) client->receive();
}

}  // namespace
}  // namespace edge_infer::testing
