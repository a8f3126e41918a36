#include "apps/cli/text_input.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace edge_infer {
namespace {
namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

class TextInputTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(dir_); }
  void TearDown() override { fs::remove_all(dir_); }
  std::string put(const char* name, std::string_view content) const {
    std::ofstream(dir_ / name, std::ios::binary) << content;
    return (dir_ / name).native();
  }
  std::string error_of(const char* name, std::string_view content, const TextLimits& limits = {}) const {
    const auto input = TextInput::read({put(name, content), {}}, limits);
    return input ? "no error" : input.error().message;
  }

  const fs::path dir_ =
      fs::path(testing::TempDir()) / ("edge_infer_text_input_" + std::to_string(::getpid()));
};

TEST_F(TextInputTest, a_text_file_has_a_text_a_line) {
  const std::pair<std::string_view, Texts> cases[] = {
      {"", {}},
      {"a", {"a"}},
      {"a\n", {"a"}},
      {"a\r\n\n\nb\r\n", {"a", "", "", "b"}},
      {std::string_view("a\0b\n", 4), {std::string("a\0b", 3)}},
  };
  for (const auto& [content, texts] : cases) {
    const auto input = TextInput::read({put("in.txt", content), {}});
    ASSERT_TRUE(input) << input.error().message;
    EXPECT_EQ(input->texts(), texts) << content;
  }
  const std::string lengthy(200'000, 'x');
  EXPECT_EQ(TextInput::read({put("in.txt", lengthy + "\ny"), {}})->texts(), (Texts{lengthy, "y"}));
}

TEST_F(TextInputTest, places_count_from_one) {
  const auto input =
      TextInput::read({put("in.jsonl", "{\"text\":\"a\"}\r\n{\"text\":\"b\\n\",\"n\":1}\n\n"), {"c"}});
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_EQ(input->texts(), (Texts{"a", "b\n", "c"}));
  EXPECT_EQ(input->place(0), "line 1");
  EXPECT_EQ(input->place(1), "line 2");
  EXPECT_EQ(input->place(2), "text 1");
}

TEST_F(TextInputTest, a_json_line_that_is_wrong_says_where_and_what) {
  const std::pair<std::string_view, Texts> cases[] = {
      {R"({"text":"a\ud800b"})", {"byte 17", "surrogate"}},
      {R"({"text":"a","n":NaN})", {"byte 17", "invalid literal", ":N"}},
      {R"({"text":"a","n":1e999999})", {"number overflow", "1e999999"}},
      {"{\"text\":\"\xff\"}", {"byte 10", "UTF-8", "\\xff"}},
      {R"({"text":"a")", {"byte 12", "unexpected end of input"}},
      {R"({"text":"a"} x)", {"byte 14", "invalid literal"}},
      {R"(["text"])", {"found array", "JSON object"}},
      {R"({"txt":"a"})", {"no member \"text\""}},
      {R"({"text":7})", {"\"text\"", "found number", "expected a string"}},
  };
  for (const auto& [line, parts] : cases) {
    const std::string message = error_of("in.jsonl", "{\"text\":\"fine\"}\n" + std::string(line) + "\n");
    EXPECT_NE(message.find("in.jsonl\" line 2"), std::string::npos) << message;
    for (const std::string& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << part << ": " << message;
    EXPECT_LT(message.size(), 500U) << message;
  }
}

TEST_F(TextInputTest, only_the_last_json_line_may_be_blank) {
  const std::string fine = "{\"text\":\"a\"}\n";
  for (const char* blank : {"\n", " \t\n", "  "})
    EXPECT_EQ(TextInput::read({put("in.jsonl", fine + blank), {}})->texts(), Texts{"a"}) << blank;
  for (const std::string& content : {fine + "\n" + fine, "\n" + fine + fine, fine + "\n\n"}) {
    const std::string message = error_of("in.jsonl", content);
    EXPECT_NE(message.find(content.starts_with('\n') ? "line 1 is blank" : "line 2 is blank"),
              std::string::npos)
        << message;
  }
}

TEST_F(TextInputTest, lines_and_inputs_have_a_bound) {
  TextLimits limits;
  limits.line_bytes = 100;
  limits.input_bytes = 250;
  EXPECT_EQ(error_of("in.txt", std::string(100, 'a') + "\n", limits), "no error");
  EXPECT_NE(error_of("in.txt", "a\n" + std::string(101, 'a') + "\n", limits)
                .find("line 2 is longer than 100 bytes"),
            std::string::npos);
  EXPECT_NE(error_of("in.txt", std::string(251, '\n'), limits).find("more than 250 bytes"),
            std::string::npos);
  EXPECT_EQ(error_of("in.txt", std::string(250, '\n'), limits), "no error");
  limits.input_bytes = uint64_t{1} << 30;
  // The bound holds while the line is read, not after it.
  EXPECT_NE(error_of("in.txt", std::string(size_t{1} << 20, 'a'), limits).find("longer than 100"),
            std::string::npos);
}

TEST_F(TextInputTest, what_cannot_be_read_is_named) {
  EXPECT_EQ(TextInput::read({(dir_ / "absent.txt").native(), {}}).error().code, ErrorCode::kNotFound);
  const auto folder = TextInput::read({dir_.native(), {}});
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("directory"), std::string::npos) << folder.error().message;
  EXPECT_EQ(TextInput::read({}).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace edge_infer
