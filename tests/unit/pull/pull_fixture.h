// A hub on loopback, an empty models directory and what a pull told, for the tests of pull.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/pull/pull_model.h"

namespace edge_infer {

// tests/data/pull/hub_stub.py as a child; it ends when its standard input does.
class HubStub {
 public:
  HubStub();
  ~HubStub();
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }

 private:
  pid_t child_ = -1;
  int input_ = -1, port_ = 0;
};

class Recorder final : public PullProgress {
 public:
  void start(const std::string&, size_t count, uint64_t total_bytes) override {
    files = count;
    total = total_bytes;
  }
  void file_start(const std::string&, uint64_t, uint64_t resumed_bytes) override { resumed += resumed_bytes; }
  void file_bytes(uint64_t) override { ++steps; }
  void file_end(const std::string& file, uint64_t) override { ended.push_back(file); }
  void wait(const std::string& why, int64_t wait_ms) override {
    reasons.push_back(why);
    waits_ms.push_back(wait_ms);
  }
  size_t files = 0, steps = 0;
  uint64_t total = 0, resumed = 0;
  std::vector<std::string> ended, reasons;
  std::vector<int64_t> waits_ms;
};

class Pull : public ::testing::Test {
 protected:
  static HubStub& hub();
  void SetUp() override;
  void TearDown() override;

  Result<PulledModel> pull(const std::string& name) { return pull_model(name, options_, progress_); }
  std::filesystem::path folder(const std::string& model) const {
    return options_.models_dir / ("owner--" + model);
  }
  std::filesystem::path staging(const std::string& model) const {
    return options_.models_dir / (".owner--" + model + ".partial");
  }
  // The requests for files of `model` that end with `end`, as the stub saw them.
  nlohmann::json requests(const std::string& model, const std::string& end);
  nlohmann::json weight_requests(const std::string& model) { return requests(model, "/model.safetensors"); }
  // Of all models.
  static std::string weights();
  static std::string read(const std::filesystem::path& path);
  // The names in the models directory, sorted.
  std::vector<std::string> left_behind() const;

  std::filesystem::path dir_;
  PullOptions options_;
  Recorder progress_;
};

}  // namespace edge_infer
