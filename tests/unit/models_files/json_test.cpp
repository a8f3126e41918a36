#include "models/files/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace edge_infer {
namespace {

JsonObject object(std::string_view text) {
  auto parsed = JsonObject::parse(text, "config.json");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed.value_or(JsonObject());
}

TEST(Json, parses_what_nlohmann_parses) {
  const std::string text =
      R"({"a":[1,-2,3.5,true,null,"x\u00e9",{"b":[]},[[],{}]],"c":{"d":18446744073709551615}})";
  const auto parsed = parse_json(text, "t");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, nlohmann::json::parse(text));
}

TEST(Json, refuses_nesting_beyond_the_limit_without_recursion) {
  std::string text(200'000, '[');
  const auto parsed = parse_json(text, "\"deep.json\"");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(parsed.error().message.find("deep.json"), std::string::npos);
}

TEST(Json, refuses_more_values_and_bytes_than_the_limits) {
  JsonLimits limits;
  limits.values = 3;
  EXPECT_TRUE(parse_json("[1,2]", "t", limits));
  EXPECT_EQ(parse_json("[1,2,3]", "t", limits).error().code, ErrorCode::kResourceExhausted);
  limits.bytes = 4;
  EXPECT_EQ(parse_json("[1,2]", "t", limits).error().code, ErrorCode::kResourceExhausted);
}

TEST(Json, refuses_bad_syntax_utf8_and_numbers) {
  for (const std::string_view text :
       {"", "{", "[1,]", "{\"a\":NaN}", "{\"\xff\":1}", "[1] x", "[1e999]", "{\"a\" 1}"}) {
    const auto parsed = parse_json(text, "t");
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kCorruption) << text;
  }
}

TEST(Json, says_what_is_wrong_and_where_in_a_bounded_message) {
  const std::string digits(100'000, '7'), letters(100'000, 'x');
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {R"({"a":NaN})", {"at byte 6", "invalid literal", ":N"}},
      {R"(["\ud800"])", {"surrogate"}},
      {"[\"\xff\"]", {"at byte 3", "UTF-8", "\\xff"}},
      {"[1e999]", {"number overflow", "1e999"}},
      {"[" + digits + "e999999]", {"number overflow", "ends with", "7e999999"}},
      {"[\"" + letters + "\n\"]", {"at byte 100003", "control character", "ends with"}},
      {"[1", {"unexpected end of input"}},
  };
  for (const auto& [text, parts] : cases) {
    const auto parsed = parse_json(text, "t");
    ASSERT_FALSE(parsed);
    const std::string& message = parsed.error().message;
    for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_LT(message.size(), 300U) << message.substr(0, 300);
  }
}

TEST(Json, takes_the_last_of_doubled_keys_unless_they_must_be_unique) {
  EXPECT_EQ(*object(R"({"a":1,"a":2})").integer("a"), 2);
  JsonLimits limits;
  limits.unique_keys = true;
  EXPECT_EQ(parse_json(R"({"a":1,"a":2})", "t", limits).error().code, ErrorCode::kCorruption);
}

TEST(JsonObject, reads_members_by_type) {
  const auto config =
      object(R"({"i":7,"f":0.5,"t":"x","b":true,"n":null,"a":["p","q"],"o":{"i":1},"l":[{"i":2}]})");
  EXPECT_EQ(*config.integer("i"), 7);
  EXPECT_EQ(*config.number("i"), 7.0);
  EXPECT_EQ(*config.number("f"), 0.5);
  EXPECT_EQ(*config.text("t"), "x");
  EXPECT_TRUE(*config.boolean("b"));
  EXPECT_EQ(config.texts_or_empty("a")->size(), 2u);
  EXPECT_EQ(*config.object("o")->integer("i"), 1);
  EXPECT_EQ(*config.objects_or_empty("l")->at(0).integer("i"), 2);
  EXPECT_FALSE(config.has("n"));
  EXPECT_EQ(*config.integer_or("n", 9), 9);
  EXPECT_EQ(*config.text_or("absent", "y"), "y");
  EXPECT_TRUE(config.objects_or_empty("absent")->empty());
}

TEST(JsonObject, names_file_member_found_and_expected) {
  const auto config = object(R"({"h":"48","f":48.5,"u":18446744073709551615,"big":99999999999999999999999})");
  EXPECT_EQ(config.integer("h", {1, 100}).error().message,
            "\"config.json\": member \"h\": found the string \"48\", expected an integer from 1 to 100");
  EXPECT_EQ(config.integer("f").error().message,
            "\"config.json\": member \"f\": found 48.5, expected an integer");
  EXPECT_EQ(config.integer("absent", {1, INT64_MAX}).error().message,
            "\"config.json\": member \"absent\": found nothing, expected an integer of at least 1");
  EXPECT_FALSE(config.integer("u"));
  EXPECT_FALSE(config.integer("big"));
  EXPECT_FALSE(config.integer_or("h", 1));
  EXPECT_FALSE(config.boolean_or("h", true));
  EXPECT_FALSE(config.text("f"));
  EXPECT_FALSE(config.object("h"));
  EXPECT_FALSE(config.objects_or_empty("h"));
  EXPECT_FALSE(config.texts_or_empty("f"));
}

TEST(Json, quotes_hostile_names_readably) {
  EXPECT_EQ(quote("a\nb\xff"), "\"a\\x0ab\\xff\"");
  EXPECT_EQ(quote("船"), "\"船\"");
  EXPECT_EQ(quote(std::string(500, 'x')), "\"" + std::string(120, 'x') + "...\"");
}

}  // namespace
}  // namespace edge_infer
