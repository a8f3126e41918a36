// The real model's tokenizer against Hugging Face's ids: 20,480 lines that sweep Unicode, and the 1,000
// fixture texts.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/tokenizers/tokenizer.h"
#include "tests/unit/models_files/temporary_dir.h"

namespace edge_infer {
namespace {

using Json = nlohmann::json;
using testing_support::TemporaryDir;

// FNV-1a of the ids as little-endian int32.
uint64_t hash_of(const std::vector<int32_t>& ids) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const int32_t id : ids)
    for (int shift = 0; shift < 32; shift += 8)
      hash = (hash ^ (static_cast<uint32_t>(id) >> shift & 0xffu)) * 0x100000001b3u;
  return hash;
}

std::vector<Json> read_jsonl(const std::filesystem::path& path) {
  std::vector<Json> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) out.push_back(Json::parse(line));
  return out;
}

class RealTokenizer : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("EDGE_INFER_TEST_MODEL");
    if (path == nullptr) GTEST_SKIP() << "EDGE_INFER_TEST_MODEL is not set";
    model_ = path;
    TokenizerOptions options;
    options.cache_dir = cache_.path();
    for (auto* tokenizer : {&parsed_, &mapped_}) {
      auto loaded = Tokenizer::load(model_, options);
      ASSERT_TRUE(loaded) << loaded.error().message;
      *tokenizer = std::move(*loaded);
    }
  }
  std::filesystem::path model_;
  TemporaryDir cache_;
  std::unique_ptr<Tokenizer> parsed_, mapped_;
};

TEST_F(RealTokenizer, agrees_on_all_lines_of_the_unicode_sweep) {
  const auto lines_file = cache_.path() / "lines.jsonl";
  const std::string command =
      "python3 tests/data/tokenizer/make_lines.py --out '" + lines_file.native() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto lines = read_jsonl(lines_file);
  ASSERT_EQ(lines.size(), 20'480u);
  std::ifstream hashes("tests/data/tokenizer/golden.fnv1a64.txt");
  Encoding encoding;
  std::vector<TokenSpan> spans;
  int wrong = 0;
  for (const Json& line : lines) {
    const auto text = line.get<std::string>();
    std::string golden;
    hashes >> golden;
    for (const auto* tokenizer : {parsed_.get(), mapped_.get()}) {
      tokenizer->encode(text, 0, encoding);
      if (fmt::format("{:016x}", hash_of(encoding.ids)) != golden && ++wrong <= 5)
        ADD_FAILURE() << line.dump(-1, ' ', true);
    }
    mapped_->encode_spans(text, spans);
    ASSERT_EQ(static_cast<int64_t>(spans.size()) + 2, encoding.tokens);
    int64_t previous = 0;
    for (const TokenSpan& span : spans) {
      ASSERT_LE(previous, span.begin);
      ASSERT_LT(span.begin, span.end);
      ASSERT_LE(span.end, static_cast<int64_t>(text.size()));
      previous = span.begin;
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(RealTokenizer, agrees_on_the_first_200_lines_id_by_id) {
  const auto lines_file = cache_.path() / "lines.jsonl";
  ASSERT_EQ(
      std::system(("python3 tests/data/tokenizer/make_lines.py --out '" + lines_file.native() + "'").c_str()),
      0);
  const auto lines = read_jsonl(lines_file);
  const auto golden = read_jsonl("tests/data/tokenizer/golden.first200.ids.jsonl");
  ASSERT_EQ(golden.size(), 200u);
  Encoding encoding;
  for (size_t i = 0; i < golden.size(); ++i) {
    mapped_->encode(lines[i].get<std::string>(), 0, encoding);
    EXPECT_EQ(encoding.ids, golden[i].get<std::vector<int32_t>>()) << lines[i].dump(-1, ' ', true);
  }
}

TEST_F(RealTokenizer, agrees_on_the_fixture_texts_cut_to_256) {
  const auto texts = read_jsonl("tests/data/texts/texts.jsonl");
  const auto golden = read_jsonl("tests/data/texts/texts.ids.jsonl");
  ASSERT_EQ(texts.size(), 1000u);
  ASSERT_EQ(golden.size(), 1000u);
  Encoding encoding;
  for (size_t i = 0; i < texts.size(); ++i) {
    mapped_->encode(texts[i].at("text").get<std::string>(), 256, encoding);
    EXPECT_EQ(encoding.ids, golden[i].at("ids").get<std::vector<int32_t>>()) << texts[i].at("id");
    EXPECT_EQ(encoding.tokens, golden[i].at("tokens_full").get<int64_t>()) << texts[i].at("id");
    EXPECT_EQ(encoding.truncated, golden[i].at("truncated").get<bool>()) << texts[i].at("id");
  }
}

TEST_F(RealTokenizer, loads_from_its_image_in_a_few_milliseconds) {
  TokenizerOptions options;
  options.cache_dir = cache_.path();
  double best = 1e9;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(Tokenizer::load(model_, options));
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  RecordProperty("milliseconds", std::to_string(best));
  std::printf("image load: %.3f ms\n", best);
#ifndef EDGE_INFER_SANITIZED
  EXPECT_LT(best, 10.0);  // 1 on a quiet machine; parsing takes tens
#endif
}

TEST_F(RealTokenizer, gives_the_same_ids_from_a_bare_vocabulary) {
  TemporaryDir dir;
  std::filesystem::copy_file(model_ / "vocab.txt", dir.path() / "vocab.txt");
  std::filesystem::copy_file(model_ / "tokenizer_config.json", dir.path() / "tokenizer_config.json");
  const auto bare = Tokenizer::load(dir.path());
  ASSERT_TRUE(bare) << bare.error().message;
  Encoding a, b;
  for (const Json& line : read_jsonl("tests/data/texts/texts.jsonl")) {
    const auto text = line.at("text").get<std::string>();
    mapped_->encode(text, 0, a);
    (*bare)->encode(text, 0, b);
    EXPECT_EQ(a.ids, b.ids) << line.at("id");
  }
}

}  // namespace
}  // namespace edge_infer
