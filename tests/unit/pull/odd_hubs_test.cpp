// Hubs that are busy, lose connections, do not keep to ranges, or hold a model that cannot be whole.
#include <gtest/gtest.h>

#include "tests/unit/pull/pull_fixture.h"

namespace edge_infer {
namespace {
namespace fs = std::filesystem;

bool says(const Result<PulledModel>& pulled, const char* words) {
  return !pulled && pulled.error().message.find(words) != std::string::npos;
}

TEST_F(Pull, a_file_whose_end_nothing_verifies_is_refused) {
  const auto pulled = pull("owner/no-end");
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(says(pulled, "model.safetensors: the hub gives neither its size nor a checksum"))
      << pulled.error().message;
  EXPECT_FALSE(fs::exists(folder("no-end")));
  // Chunks mark the end as well as a length does.
  const auto chunked = pull("owner/chunked");
  ASSERT_TRUE(chunked) << chunked.error().message;
  EXPECT_EQ(read(chunked->dir / "model.safetensors"), weights());
  options_.retries = 0;
  EXPECT_TRUE(says(pull("owner/chunked-cut"), "pull again to go on from there"));
  EXPECT_FALSE(fs::exists(folder("chunked-cut")));
}

TEST_F(Pull, an_answer_without_a_length_that_ends_early_is_resumed) {
  const auto pulled = pull("owner/no-length-cut-once");
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(read(pulled->dir / "model.safetensors"), weights());
  const auto asked = weight_requests("no-length-cut-once");
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[1]["range"], "bytes=524288-");
}

TEST_F(Pull, a_server_that_sends_another_range_is_asked_for_the_whole) {
  options_.retries = 0;
  for (const char* model : {"wrong-range", "no-content-range"}) {
    SCOPED_TRACE(model);
    const std::string name = std::string("owner/") + model;
    EXPECT_TRUE(says(pull(name), "524288 of 1048576 bytes"));
    const auto second = pull(name);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(read(second->dir / "model.safetensors"), weights());
    const auto asked = weight_requests(model);
    ASSERT_EQ(asked.size(), 3u);
    EXPECT_EQ(asked[1]["range"], "bytes=524288-");
    EXPECT_TRUE(asked[2]["range"].is_null());
  }
}

TEST_F(Pull, a_server_that_sends_a_part_unasked_is_an_error) {
  EXPECT_TRUE(says(pull("owner/part-unasked"), "asked for bytes from 0"));
}

TEST_F(Pull, a_busy_hub_is_asked_again) {
  const auto pulled = pull("owner/busy-twice");  // 503 and 429, for the listing and for the weights
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(read(pulled->dir / "model.safetensors"), weights());
  EXPECT_EQ(progress_.waits_ms, std::vector<int64_t>({1, 1000, 1, 1000}));  // the 429s ask for 1 s
  EXPECT_NE(progress_.reasons[0].find("status 503"), std::string::npos) << progress_.reasons[0];
  EXPECT_NE(progress_.reasons[3].find("model.safetensors"), std::string::npos) << progress_.reasons[3];
}

TEST_F(Pull, a_hub_that_stays_busy_is_an_error_that_says_how_to_go_on) {
  for (const char* status : {"408", "429", "500", "502", "503", "504"}) {
    progress_ = {};
    const auto pulled = pull(std::string("owner/busy-") + status);
    ASSERT_FALSE(pulled) << status;
    EXPECT_EQ(pulled.error().code, ErrorCode::kIoError);
    EXPECT_TRUE(says(pulled, "model.safetensors stopped after 0 of 1048576 bytes; pull again to go on"))
        << pulled.error().message;
    EXPECT_TRUE(says(pulled, status)) << pulled.error().message;
    EXPECT_EQ(progress_.waits_ms, std::vector<int64_t>({1, 2, 4, 8}));
  }
}

TEST_F(Pull, a_hub_that_asks_for_a_long_wait_is_left_alone) {
  for (const char* model : {"busy-long", "busy-date"}) {
    progress_ = {};
    const auto pulled = pull(std::string("owner/") + model);
    EXPECT_TRUE(says(pulled, "asks to wait 3")) << model;  // 3600 s, or a date of about that
    EXPECT_TRUE(says(pulled, "pull again")) << model;
    EXPECT_EQ(progress_.waits_ms, std::vector<int64_t>()) << model;
  }
}

TEST_F(Pull, a_connection_that_closes_before_the_answer_is_made_again) {
  const auto pulled = pull("owner/drop-once");
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_GE(progress_.waits_ms.size(), 1u);  // libcurl itself tries again where it reused a connection
  EXPECT_EQ(weight_requests("drop-once").size(), 2u);
}

TEST_F(Pull, the_token_stays_at_its_origin) {
  options_.token = "hf_secret";
  for (const char* model : {"other-port", "other-host"}) {
    SCOPED_TRACE(model);
    ASSERT_TRUE(pull(std::string("owner/") + model));
    const auto asked = weight_requests(model);
    ASSERT_EQ(asked.size(), 2u);
    EXPECT_EQ(asked[0]["auth"], "Bearer hf_secret");
    EXPECT_TRUE(asked[1]["auth"].is_null()) << asked[1];
  }
  ASSERT_TRUE(pull("owner/linked"));
  EXPECT_EQ(weight_requests("linked").back()["auth"], "Bearer hf_secret") << "the same origin";
}

TEST_F(Pull, a_module_without_its_file_is_said_before_the_weights_are_fetched) {
  const struct {
    const char* model;
    const char* words;
  } rows[] = {
      {"dense-pickle", "no \"2_Dense/model.safetensors\"; its \"2_Dense/pytorch_model.bin\" is a pickle"},
      {"dense-nothing", "no \"2_Dense/model.safetensors\", which its modules.json asks for"},
      {"dense-no-config", "no \"2_Dense/config.json\""},
      {"dense-odd-folder", "needs \"dense/config.json\", which pull does not fetch"},
      {"pooling-missing", "no \"1_Pooling/config.json\""},
  };
  for (const auto& row : rows) {
    const auto pulled = pull(std::string("owner/") + row.model);
    ASSERT_FALSE(pulled) << row.model;
    EXPECT_EQ(pulled.error().code, ErrorCode::kUnsupported);
    EXPECT_TRUE(says(pulled, row.words)) << pulled.error().message;
    EXPECT_EQ(weight_requests(row.model).size(), 0u) << row.model;
  }
  EXPECT_EQ(left_behind(), std::vector<std::string>());
  const auto whole = pull("owner/dense");
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(read(whole->dir / "2_Dense/model.safetensors"), "dense weights");
  EXPECT_TRUE(pull("owner/dense-unused")) << "a folder that modules.json does not name may hold anything";
}

TEST_F(Pull, a_model_of_pickles_is_said_with_the_pickles_name) {
  EXPECT_TRUE(says(pull("owner/pickle-only"), "its pytorch_model.bin is a pickle"));
  EXPECT_TRUE(says(pull("owner/pickle-shards"), "its pytorch_model-00001-of-00002.bin is a pickle"));
}

}  // namespace
}  // namespace edge_infer
