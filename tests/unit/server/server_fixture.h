// A running server over the fake embedder, on a free port.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "apps/server/server.h"
#include "tests/unit/server/client.h"
#include "tests/unit/server/fake_embedder.h"

namespace edge_infer::testing {

class ServerTest : public ::testing::Test {
 protected:
  static ServerOptions defaults() {
    ServerOptions options;
    options.port = 0;
    options.service.model_name = "owner/fake";
    options.service.batching.batch_tokens = FakeEmbedder::kMaxBatchTokens;
    options.service.workers = 2;
    return options;
  }
  void start(ServerOptions options = defaults()) {
    auto server = Server::start(embedder_, std::move(options));
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }
  uint16_t port() const { return server_->port(); }

  std::vector<float> expected(const std::string& text, const std::string& prompt = "") const {
    return *embedder_.embed(std::vector<std::string>{text}, prompt);
  }
  static std::vector<float> vector_of(const nlohmann::json& numbers) {
    std::vector<float> result;
    for (const auto& number : numbers) result.push_back(static_cast<float>(number.get<double>()));
    return result;
  }
  static nlohmann::json parse(const Answer& answer) {
    return nlohmann::json::parse(answer.body, nullptr, false);
  }
  // Waits until /metrics has `line`.
  bool metric_appears(const std::string& line) const {
    for (int attempt = 0; attempt < 5000; ++attempt) {
      if (Client(port()).get("/metrics").body.find(line + "\n") != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
    return false;
  }
  // Asserts that a good request on a new connection is answered at once with the right vector.
  void expect_good_request() const {
    Client client(port());
    const Answer answer = client.post("/v1/embeddings", R"({"input":"still here"})");
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(vector_of(parse(answer)["data"][0]["embedding"]), expected("still here"));
  }

  FakeEmbedder embedder_;
  std::unique_ptr<Server> server_;
};

}  // namespace edge_infer::testing
