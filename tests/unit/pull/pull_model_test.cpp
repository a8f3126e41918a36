#include "apps/pull/pull_model.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "apps/pull/checksum.h"
#include "models/hub/model_directory.h"
#include "tests/unit/pull/pull_fixture.h"

namespace edge_infer {
namespace {
namespace fs = std::filesystem;

TEST_F(Pull, fetches_verifies_and_publishes_the_allowed_files) {
  const auto pulled = pull("owner/plain");
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(pulled->dir, options_.models_dir / "owner--plain");
  EXPECT_FALSE(pulled->was_current);
  EXPECT_EQ(read(pulled->dir / "model.safetensors"), weights());
  EXPECT_EQ(read(pulled->dir / "1_Pooling/config.json"), "{\"pooling_mode_mean_tokens\": true}\n");
  EXPECT_FALSE(fs::exists(pulled->dir / "pytorch_model.bin"));
  EXPECT_FALSE(fs::exists(pulled->dir / "README.md"));
  EXPECT_FALSE(fs::exists(staging("plain")));
  EXPECT_EQ(progress_.files, 4u);
  EXPECT_EQ(progress_.ended.back(), "model.safetensors");
  EXPECT_GT(progress_.steps, 0u);
  ::setenv("EDGE_INFER_MODELS", options_.models_dir.c_str(), 1);
  EXPECT_EQ(resolve_model("owner/plain"), pulled->dir);
  ::unsetenv("EDGE_INFER_MODELS");
}

TEST_F(Pull, a_second_pull_of_the_same_revision_fetches_nothing) {
  ASSERT_TRUE(pull("owner/plain"));
  const size_t before = weight_requests("plain").size();
  const auto again = pull("owner/plain");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->was_current);
  EXPECT_EQ(weight_requests("plain").size(), before);
}

TEST_F(Pull, another_revision_replaces_the_folder) {
  const auto pulled = pull("owner/plain");
  ASSERT_TRUE(pulled);
  std::ofstream(pulled->dir / ".edge-infer-pull.json") << R"({"revision":"older"})";
  std::ofstream(pulled->dir / "stale.json") << "x";
  const auto again = pull("owner/plain");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->was_current);
  EXPECT_FALSE(fs::exists(again->dir / "stale.json"));
  EXPECT_EQ(read(again->dir / "model.safetensors"), weights());
}

TEST_F(Pull, a_folder_that_pull_did_not_make_is_left_alone) {
  fs::create_directories(options_.models_dir / "owner--plain");
  std::ofstream(options_.models_dir / "owner--plain/mine") << "x";
  EXPECT_EQ(pull("owner/plain").error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(fs::exists(options_.models_dir / "owner--plain/mine"));
}

TEST_F(Pull, a_cut_transfer_goes_on_where_it_stopped) {
  const auto pulled = pull("owner/cut-once");
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(read(pulled->dir / "model.safetensors"), weights());
  const auto requests = weight_requests("cut-once");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_TRUE(requests[0]["range"].is_null());
  EXPECT_EQ(requests[1]["range"], "bytes=524288-");
}

TEST_F(Pull, an_interrupted_pull_is_resumed_by_the_next) {
  options_.retries = 0;
  const auto first = pull("owner/cut-always");
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::kIoError);
  EXPECT_NE(first.error().message.find("524288 of 1048576 bytes"), std::string::npos)
      << first.error().message;
  EXPECT_FALSE(fs::exists(options_.models_dir / "owner--cut-always"));
  EXPECT_EQ(fs::file_size(staging("cut-always") / "model.safetensors.part"), 524288u);
  const auto second = pull("owner/cut-always");
  ASSERT_FALSE(second);
  EXPECT_EQ(progress_.resumed, 524288u);
  EXPECT_EQ(fs::file_size(staging("cut-always") / "model.safetensors.part"), 786432u);
}

TEST_F(Pull, a_partial_file_of_other_content_starts_anew_by_its_etag) {
  options_.retries = 0;
  ASSERT_FALSE(pull("owner/cut-always"));
  std::ofstream(staging("cut-always") / "model.safetensors.part.etag") << "\"another\"";
  ASSERT_FALSE(pull("owner/cut-always"));
  EXPECT_EQ(fs::file_size(staging("cut-always") / "model.safetensors.part"), 524288u);
}

TEST_F(Pull, a_server_without_ranges_sends_all_again) {
  const auto pulled = pull("owner/no-range");
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(read(pulled->dir / "model.safetensors"), weights());
}

TEST_F(Pull, a_wrong_checksum_is_an_error_and_the_file_is_removed) {
  for (const char* model : {"wrong-sum", "wrong-small-sum", "wrong-header-sum"}) {
    const auto pulled = pull(std::string("owner/") + model);
    ASSERT_FALSE(pulled) << model;
    EXPECT_EQ(pulled.error().code, ErrorCode::kCorruption) << pulled.error().message;
    EXPECT_FALSE(fs::exists(options_.models_dir / (std::string("owner--") + model)));
    const char* file = std::string(model) == "wrong-small-sum" ? "config.json" : "model.safetensors";
    EXPECT_NE(pulled.error().message.find(file), std::string::npos) << pulled.error().message;
    EXPECT_FALSE(fs::exists(staging(model) / file));
    EXPECT_FALSE(fs::exists(staging(model) / (std::string(file) + ".part")));
  }
}

TEST_F(Pull, the_checksum_may_come_in_the_header_also_before_a_redirect) {
  const auto header = pull("owner/header-sum");
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_NE(read(header->dir / ".edge-infer-pull.json").find(*file_sha256(header->dir / "model.safetensors")),
            std::string::npos);
  const auto linked = pull("owner/linked");
  ASSERT_TRUE(linked) << linked.error().message;
  EXPECT_EQ(read(linked->dir / "model.safetensors"), weights());
}

TEST_F(Pull, more_bytes_than_announced_are_refused) {
  const auto pulled = pull("owner/too-long");
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code, ErrorCode::kCorruption);
}

TEST_F(Pull, hostile_names_in_a_listing_are_ignored) {
  const auto pulled = pull("owner/hostile");
  ASSERT_TRUE(pulled) << pulled.error().message;
  size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(dir_)) count += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(count, 4u + 1u);  // the files and the manifest
  EXPECT_FALSE(fs::exists("/tmp/escaped.json"));
}

TEST_F(Pull, hostile_model_names_are_refused) {
  for (const char* name :
       {"", "..", "../x", "owner/..", "owner/../x", "/etc", "a/b/c", "owner/", "/model", "a b", "owner/.x",
        "owner--model", "owner/a..b", "owner/a%2fb", "owner/a?b", "-\n", "owner\\x"}) {
    const auto pulled = pull(name);
    ASSERT_FALSE(pulled) << name;
    EXPECT_EQ(pulled.error().code, ErrorCode::kInvalidArgument) << name;
  }
  EXPECT_FALSE(fs::exists(options_.models_dir));
}

TEST_F(Pull, shards_are_fetched_when_there_is_no_single_file) {
  const auto pulled = pull("owner/sharded");
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(read(pulled->dir / "model-00001-of-00002.safetensors") +
                read(pulled->dir / "model-00002-of-00002.safetensors"),
            weights());
  const auto missing = pull("owner/missing-shard");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("model-00002-of-00002.safetensors"), std::string::npos);
}

TEST_F(Pull, what_the_hub_lacks_or_refuses_is_a_clear_error) {
  const struct {
    const char* name;
    ErrorCode code;
    const char* words;
  } rows[] = {
      {"owner/nothing", ErrorCode::kNotFound, "no model \"owner/nothing\""},
      {"owner/gated", ErrorCode::kNotFound, "HF_TOKEN"},
      {"owner/broken", ErrorCode::kIoError, "status 500"},
      {"owner/no-json", ErrorCode::kCorruption, "no JSON object"},
      {"owner/pickle-only", ErrorCode::kUnsupported, "pickle"},
      {"owner/huge", ErrorCode::kResourceExhausted, "limit"},
      {"owner/off-https", ErrorCode::kUnsupported, "http://example.com"},
      {"owner/off-protocol", ErrorCode::kUnsupported, "file:///etc/passwd"},
      {"owner/circle", ErrorCode::kIoError, "redirects"},
  };
  for (const auto& row : rows) {
    const auto pulled = pull(row.name);
    ASSERT_FALSE(pulled) << row.name;
    EXPECT_EQ(pulled.error().code, row.code) << row.name << ": " << pulled.error().message;
    EXPECT_NE(pulled.error().message.find(row.words), std::string::npos) << pulled.error().message;
  }
  EXPECT_TRUE(pull("owner/moved"));
}

TEST_F(Pull, the_size_limit_and_the_disk_are_checked_before_anything_is_fetched) {
  options_.size_limit = 1000;
  EXPECT_EQ(pull("owner/plain").error().code, ErrorCode::kResourceExhausted);
  options_.size_limit = uint64_t{1} << 63;
  const auto huge = pull("owner/huge");
  EXPECT_EQ(huge.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(huge.error().message.find("free"), std::string::npos) << huge.error().message;
}

TEST_F(Pull, offline_is_said_with_the_host) {
  options_.endpoint = "http://127.0.0.1:1";
  const auto refused = pull("owner/plain");
  EXPECT_NE(refused.error().message.find("cannot reach host 127.0.0.1: offline?"), std::string::npos)
      << refused.error().message;
  options_.endpoint = "https://host.invalid";
  const auto unknown = pull("owner/plain");
  EXPECT_EQ(unknown.error().code, ErrorCode::kIoError);
}

TEST_F(Pull, endpoints_must_be_https_or_loopback) {
  for (const char* endpoint : {"http://example.com", "ftp://127.0.0.1", "http://user:pw@127.0.0.1",
                               "file:///tmp", "", "http://127.0.0.1.evil.example"}) {
    options_.endpoint = endpoint;
    EXPECT_EQ(pull("owner/plain").error().code, ErrorCode::kInvalidArgument) << endpoint;
  }
}

TEST_F(Pull, two_pulls_of_one_model_exclude_each_other) {
  fs::create_directories(options_.models_dir);
  const int lock =
      ::open((options_.models_dir / ".owner--plain.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  const auto pulled = pull("owner/plain");
  ASSERT_FALSE(pulled);
  EXPECT_NE(pulled.error().message.find("another pull"), std::string::npos);
  EXPECT_TRUE(fs::exists(options_.models_dir / ".owner--plain.lock")) << "the lock is the other's to remove";
  ::close(lock);
  EXPECT_TRUE(pull("owner/plain"));
  EXPECT_EQ(left_behind(), std::vector<std::string>({"owner--plain"}));
}

TEST_F(Pull, the_token_goes_to_the_endpoint) {
  options_.token = "hf_secret";
  ASSERT_TRUE(pull("owner/header-sum"));
  EXPECT_EQ(weight_requests("header-sum").back()["auth"], "Bearer hf_secret");
}

TEST_F(Pull, the_program_prints_the_folder_and_ends_with_0_1_or_2) {
  const char* bin = std::getenv("EDGE_INFER_BIN");
  if (bin == nullptr) GTEST_SKIP() << "EDGE_INFER_BIN is not set";
  const auto run = [&](const std::string& arguments, std::string& out) {
    const std::string command = "HF_ENDPOINT=" + hub().url() + " EDGE_INFER_MODELS='" +
                                options_.models_dir.native() + "' '" + bin + "/edge-infer-pull' " +
                                arguments + " 2>/dev/null";
    FILE* pipe = ::popen(command.c_str(), "r");
    out.clear();
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
    return WEXITSTATUS(::pclose(pipe));
  };
  std::string out;
  EXPECT_EQ(run("owner/plain", out), 0);
  EXPECT_EQ(out, (options_.models_dir / "owner--plain").native() + "\n");
  EXPECT_EQ(run("owner/nothing", out), 1);
  EXPECT_EQ(out, "");
  EXPECT_EQ(run("../nothing", out), 2);
  EXPECT_EQ(run("owner/plain --endpoint http://example.com", out), 2);
  EXPECT_EQ(run("", out), 2);
  EXPECT_EQ(run("owner/plain >/dev/full", out), 1);
  EXPECT_EQ(run("owner/plain >&-", out), 1);
}

TEST_F(Pull, nothing_stays_of_a_model_that_is_not_there) {
  EXPECT_FALSE(pull("owner/nothing"));
  EXPECT_FALSE(pull("owner/pickle-only"));
  EXPECT_EQ(left_behind(), std::vector<std::string>());
  ASSERT_TRUE(pull("owner/plain"));
  EXPECT_EQ(left_behind(), std::vector<std::string>({"owner--plain"}));
}

TEST_F(Pull, an_unwritable_models_directory_is_a_clear_error) {
  std::ofstream(dir_.native() + "_file") << "x";
  options_.models_dir = fs::path(dir_.native() + "_file") / "models";
  EXPECT_EQ(pull("owner/plain").error().code, ErrorCode::kIoError);
  fs::remove(dir_.native() + "_file");
}

}  // namespace
}  // namespace edge_infer
