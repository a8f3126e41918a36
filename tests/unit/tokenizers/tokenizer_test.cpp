#include "models/tokenizers/tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/unit/models_files/temporary_dir.h"
#include "tests/unit/tokenizers/small_tokenizer.h"

namespace edge_infer {
namespace {

using testing_support::small_tokenizer;
using testing_support::TemporaryDir;
using Ids = std::vector<int32_t>;

std::unique_ptr<Tokenizer> load(const nlohmann::json& json, const TokenizerOptions& options = {},
                                const std::string& config = "") {
  TemporaryDir dir;
  dir.put("tokenizer.json", json.dump());
  if (!config.empty()) dir.put("tokenizer_config.json", config);
  auto tokenizer = Tokenizer::load(dir.path(), options);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

Error load_error(const std::string& json) {
  TemporaryDir dir;
  dir.put("tokenizer.json", json);
  auto tokenizer = Tokenizer::load(dir.path());
  EXPECT_FALSE(tokenizer) << json.substr(0, 200);
  return tokenizer ? Error{} : tokenizer.error();
}

Ids ids_of(const Tokenizer& tokenizer, std::string_view text, int64_t max_length = 0) {
  Encoding out;
  tokenizer.encode(text, max_length, out);
  return out.ids;
}

double seconds_of(const Tokenizer& tokenizer, const std::string& text) {
  Encoding out;
  const auto start = std::chrono::steady_clock::now();
  tokenizer.encode(text, 256, out);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Tokenizer, cuts_words_into_the_longest_pieces) {
  const auto tokenizer = load(small_tokenizer());
  EXPECT_EQ(ids_of(*tokenizer, "Hello, world! running runs runx"), (Ids{1, 3, 12, 4, 13, 5, 6, 5, 7, 0, 2}));
  EXPECT_EQ(ids_of(*tokenizer, ""), (Ids{1, 2}));
  EXPECT_EQ(tokenizer->special_tokens(), 2);
  EXPECT_EQ(tokenizer->vocabulary_size(), 19);
}

TEST(Tokenizer, truncates_on_the_right_and_reports_the_whole_count) {
  const auto tokenizer = load(small_tokenizer());
  Encoding out;
  tokenizer->encode("hello world hello world", 4, out);
  EXPECT_EQ(out.ids, (Ids{1, 3, 4, 2}));
  EXPECT_TRUE(out.truncated);
  EXPECT_EQ(out.tokens, 6);
  tokenizer->encode("hello world hello world", 6, out);
  EXPECT_EQ(out.ids.size(), 6u);
  EXPECT_FALSE(out.truncated);
  tokenizer->encode("hello", 2, out);
  EXPECT_EQ(out.ids, (Ids{1, 2}));
  EXPECT_TRUE(out.truncated);
}

TEST(Tokenizer, keeps_the_limit_when_a_word_at_it_turns_out_unknown) {
  const auto tokenizer = load(small_tokenizer());
  // "runningx" emits two pieces before it is found to be unknown.
  EXPECT_EQ(ids_of(*tokenizer, "hello runningx world world", 4), (Ids{1, 3, 0, 2}));
  EXPECT_EQ(ids_of(*tokenizer, "hello runningx world world", 5), (Ids{1, 3, 0, 4, 2}));
}

TEST(Tokenizer, truncates_on_the_left_when_the_model_says_so) {
  const auto left = load(small_tokenizer(), {}, R"({"truncation_side":"left"})");
  Encoding out;
  left->encode("hello world running", 4, out);
  EXPECT_EQ(out.ids, (Ids{1, 5, 6, 2}));
  EXPECT_EQ(out.tokens, 6);
  auto json = small_tokenizer();
  json["truncation"] = {
      {"max_length", 3}, {"direction", "Left"}, {"strategy", "LongestFirst"}, {"stride", 0}};
  EXPECT_EQ(ids_of(*load(json), "hello world running", 4), (Ids{1, 5, 6, 2}));
  EXPECT_EQ(ids_of(*load(json, {}, R"({"truncation_side":"right"})"), "hello world running", 4),
            (Ids{1, 3, 4, 2}));
}

TEST(Tokenizer, ignores_the_files_own_truncation_length_and_padding) {
  auto json = small_tokenizer();
  json["truncation"] = {{"max_length", 0}, {"strategy", "LongestFirst"}, {"stride", 0}};
  json["padding"] = {{"strategy", {{"Fixed", 1000000000}}}, {"pad_id", 0}};
  EXPECT_EQ(ids_of(*load(json), "hello world"), (Ids{1, 3, 4, 2}));
}

TEST(Tokenizer, reads_bytes_that_are_not_utf8_as_replacement_characters) {
  auto json = small_tokenizer({"[UNK]", "[CLS]", "[SEP]", "a", "##a", "\xef\xbf\xbd", "##\xef\xbf\xbd"});
  json["normalizer"] = nullptr;
  const auto tokenizer = load(json);
  EXPECT_EQ(ids_of(*tokenizer, "a\xff"), (Ids{1, 3, 6, 2}));
  EXPECT_EQ(ids_of(*tokenizer, "\xe2\x82"), (Ids{1, 5, 2})) << "one for a maximal subpart";
  EXPECT_EQ(ids_of(*tokenizer, "\xe2\x82\x61"), (Ids{1, 5, 4, 2}));
  EXPECT_EQ(ids_of(*tokenizer, "\xf0\x80\x80\x80"), (Ids{1, 5, 6, 6, 6, 2}));
  EXPECT_EQ(ids_of(*tokenizer, "\xed\xa0\x80"), (Ids{1, 5, 6, 6, 2})) << "a surrogate";
  EXPECT_EQ(ids_of(*tokenizer, "\xf4\x90\x80\x80"), (Ids{1, 5, 6, 6, 6, 2})) << "over U+10FFFF";
  EXPECT_EQ(ids_of(*tokenizer, "\xf0\x9f\x9a"), (Ids{1, 5, 2}));
  EXPECT_EQ(ids_of(*tokenizer, "\xc0\xaf"), (Ids{1, 5, 6, 2}));
}

TEST(Tokenizer, drops_replacement_characters_when_cleaning) {
  const auto tokenizer = load(small_tokenizer());
  EXPECT_EQ(ids_of(*tokenizer, "he\xffllo \xe2\x82 world"), (Ids{1, 3, 4, 2}));
}

TEST(Tokenizer, matches_added_tokens_whose_replacement_character_comes_from_bad_bytes) {
  auto json = small_tokenizer();
  json["added_tokens"] = {{{"id", 19}, {"content", "a\xef\xbf\xbd"}, {"normalized", false}}};
  EXPECT_EQ(ids_of(*load(json), "b a\xff"), (Ids{1, 10, 19, 2}));
}

TEST(Tokenizer, gives_spans_in_the_original_bytes) {
  const auto tokenizer = load(small_tokenizer());
  std::vector<TokenSpan> spans;
  const std::string text = "H\xc3\xa9llo\xe2\x80\x8b, 船 RUNNING";  // accent, zero-width space
  tokenizer->encode_spans(text, spans);
  ASSERT_EQ(spans.size(), 5u);
  EXPECT_EQ(text.substr(0, 6),
            text.substr(static_cast<size_t>(spans[0].begin), static_cast<size_t>(spans[0].end)));
  EXPECT_EQ(spans[1].begin, 9);
  EXPECT_EQ(text.substr(static_cast<size_t>(spans[2].begin), 3), "船");
  EXPECT_EQ(text.substr(static_cast<size_t>(spans[3].begin), 3), "RUN");
  EXPECT_EQ(spans[4].end, static_cast<int64_t>(text.size()));
}

TEST(Tokenizer, lowers_the_text_first_when_asked_to) {
  auto json = small_tokenizer();
  json["normalizer"] = nullptr;
  json["added_tokens"] = {{{"id", 2}, {"content", "[SEP]"}, {"normalized", false}, {"special", true}}};
  EXPECT_EQ(ids_of(*load(json), "HELLO world"), (Ids{1, 0, 4, 2}));
  TokenizerOptions options;
  options.force_lower_case = true;
  const auto tokenizer = load(json, options);
  EXPECT_EQ(ids_of(*tokenizer, "HELLO World [SEP]"), (Ids{1, 3, 4, 0, 0, 0, 2})) << "no added token is left";
  std::vector<TokenSpan> spans;
  tokenizer->encode_spans("\xc4\xb0 HELLO", spans);  // U+0130 becomes two characters
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[1].begin, 3);
  EXPECT_EQ(spans[1].end, 8);
}

TEST(Tokenizer, reads_folders_with_only_a_vocabulary) {
  TemporaryDir dir;
  dir.put("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nHello\r\n##s\n");
  auto tokenizer = Tokenizer::load(dir.path());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(ids_of(**tokenizer, "Hellos [MASK]"), (Ids{2, 5, 7, 4, 3}));
  dir.put("tokenizer_config.json", R"({"do_lower_case":false,"mask_token":{"content":"[MASK]"}})");
  tokenizer = Tokenizer::load(dir.path());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(ids_of(**tokenizer, "Hellos [MASK]"), (Ids{2, 6, 7, 4, 3}));
  dir.put("tokenizer_config.json", R"({"tokenizer_class":"ZebraTokenizer"})");
  EXPECT_EQ(Tokenizer::load(dir.path()).error().code, ErrorCode::kUnsupported);
}

TEST(Tokenizer, names_what_it_does_not_support) {
  const auto with = [](const char* member, nlohmann::json value) {
    auto json = small_tokenizer();
    json[member] = std::move(value);
    return json.dump();
  };
  const std::pair<std::string, const char*> cases[] = {
      {with("model", {{"type", "BPE"}, {"vocab", nlohmann::json::object()}}), "BPE"},
      {with("model", {{"type", "Unigram"}}), "Unigram"},
      {with("normalizer", {{"type", "ZebraNormalizer"}}), "ZebraNormalizer"},
      {with("normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", ""}}), "Precompiled"},
      {with("normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "a+"}}}, {"content", "b"}}), "a+"},
      {with("pre_tokenizer", {{"type", "Metaspace"}}), "Metaspace"},
      {with("pre_tokenizer", {{"type", "ByteLevel"}}), "ByteLevel"},
      {with("post_processor", {{"type", "ZebraProcessor"}}), "ZebraProcessor"},
      {with("added_tokens", {{{"id", 19}, {"content", "\xcc\x81"}, {"normalized", true}}}), "normalization"},
  };
  for (const auto& [json, name] : cases) {
    const Error error = load_error(json);
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << error.message;
    EXPECT_NE(error.message.find(name), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("tokenizer.json"), std::string::npos) << error.message;
  }
}

TEST(Tokenizer, refuses_files_that_contradict_themselves) {
  const auto changed = [](const std::function<void(nlohmann::json&)>& change) {
    auto json = small_tokenizer();
    change(json);
    return json.dump();
  };
  const std::string cases[] = {
      "",
      "[]",
      "{}",
      small_tokenizer().dump().substr(0, 300),
      changed([](auto& j) { j["model"]["vocab"]["hello"] = -1; }),
      changed([](auto& j) { j["model"]["vocab"]["hello"] = 4294967295u; }),
      changed([](auto& j) { j["model"]["vocab"]["hello"] = "7"; }),
      changed([](auto& j) { j["model"]["vocab"]["hello"] = 1.5; }),
      changed([](auto& j) { j["model"]["vocab"][std::string(2000, 'x')] = 1; }),
      changed([](auto& j) { j["model"]["vocab"] = nlohmann::json::object(); }),
      changed([](auto& j) { j["model"]["unk_token"] = "[NOPE]"; }),
      changed([](auto& j) { j["model"]["max_input_chars_per_word"] = -1; }),
      changed([](auto& j) { j["post_processor"]["cls"] = "x"; }),
      changed([](auto& j) { j["added_tokens"] = {{{"content", "x"}}}; }),
      changed([](auto& j) { j["pre_tokenizer"] = {{"type", "Digits"}}; }),
      changed([](auto& j) {
        j["normalizer"] = {{"type", "Sequence"}, {"normalizers", nlohmann::json::array()}};
        for (int i = 0; i < 8; ++i)
          j["normalizer"]["normalizers"].push_back(
              {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
      }),
  };
  for (const std::string& json : cases)
    EXPECT_NE(load_error(json).message.find("tokenizer.json"), std::string::npos) << json.substr(0, 100);
  TemporaryDir empty;
  EXPECT_EQ(Tokenizer::load(empty.path()).error().code, ErrorCode::kNotFound);
}

TEST(Tokenizer, counts_template_ids_into_the_vocabulary_size) {
  auto json = small_tokenizer();
  json["post_processor"]["cls"] = {"[CLS]", 1000000};
  EXPECT_EQ(load(json)->vocabulary_size(), 1000001);
}

TEST(Tokenizer, takes_linear_time_on_hostile_texts) {
  auto json = small_tokenizer();
  std::string near;
  json["added_tokens"] = nlohmann::json::array();
  for (int i = 1; i <= 40; ++i)
    json["added_tokens"].push_back({{"id", 18 + i},
                                    {"content", std::string(static_cast<size_t>(i) * 10, '[') + "x"},
                                    {"normalized", i % 2 == 0},
                                    {"lstrip", true},
                                    {"rstrip", true}});
  const auto tokenizer = load(json);
  const auto plain = load(small_tokenizer());
  constexpr size_t kSmall = 30'000, kFactor = 10;
  for (const std::string unit :
       {"a", "[", "\xcc\x81", "\xe2\x82", " ", "\xe0\xa3\x94", "é", "[[[[[[[[[[x", "[ ", "\xea\xb0\x81"}) {
    std::string small, large;
    while (small.size() < kSmall) small += unit;
    for (size_t i = 0; i < kFactor; ++i) large += small;
    for (const auto* t : {tokenizer.get(), plain.get()}) {
      double one = 1e9;
      for (int i = 0; i < 3; ++i) one = std::min(one, seconds_of(*t, small));
      const double ten = std::min(seconds_of(*t, large), seconds_of(*t, large));
      EXPECT_LT(ten, std::max(0.2, one * kFactor * 5)) << unit;
    }
  }
}

TEST(Tokenizer, gives_the_same_ids_from_many_threads) {
  const auto tokenizer = load(small_tokenizer());
  const Ids expected = ids_of(*tokenizer, "Hello, world! running runs é 船");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Encoding out;
      std::vector<TokenSpan> spans;
      for (int i = 0; i < 500; ++i) {
        tokenizer->encode("Hello, world! running runs é 船", 0, out);
        tokenizer->encode_spans("Hello, world! running runs é 船", spans);
        wrong += out.ids != expected || spans.size() + 2 != expected.size();
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace edge_infer
