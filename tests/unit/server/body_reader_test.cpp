#include "apps/server/body_reader.h"

#include <gtest/gtest.h>

namespace edge_infer {
namespace {

BodyLimits limits() {
  BodyLimits result;
  result.max_inputs = 4;
  result.vocabulary_size = 300;
  result.dimensions = 16;
  return result;
}

std::expected<EmbeddingBody, ApiError> openai(std::string_view body) {
  return read_embedding_body(body, BodyDialect::kOpenAi, limits());
}
std::expected<EmbeddingBody, ApiError> tei(std::string_view body) {
  return read_embedding_body(body, BodyDialect::kTei, limits());
}

TEST(BodyReader, reads_a_string_a_list_of_strings_ids_and_lists_of_ids) {
  const auto one = openai(R"({"input":"a\u00e9\u0000b"})");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->inputs.at(0).text, std::string("a\xc3\xa9\0b", 5));
  const auto two =
      openai(R"({"input":["x",""],"model":"m","user":"u","encoding_format":"base64","dimensions":8})");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->inputs.size(), 2u);
  EXPECT_EQ(two->inputs[1].text, "");
  EXPECT_TRUE(two->base64);
  EXPECT_EQ(two->dimensions, 8);
  EXPECT_EQ(two->model, "m");
  const auto ids = openai(R"({"input":[1,5,2]})");
  ASSERT_TRUE(ids);
  ASSERT_EQ(ids->inputs.size(), 1u);
  EXPECT_EQ(ids->inputs[0].ids, (std::vector<int32_t>{1, 5, 2}));
  const auto lists = openai(R"({"input":[[1,2],[1,7,2]]})");
  ASSERT_TRUE(lists);
  ASSERT_EQ(lists->inputs.size(), 2u);
  EXPECT_EQ(lists->inputs[1].ids, (std::vector<int32_t>{1, 7, 2}));
  const auto mixed =
      tei(R"({"inputs":["a",[1,2]],"truncate":false,"normalize":false,"prompt_name":"query"})");
  ASSERT_TRUE(mixed);
  EXPECT_TRUE(mixed->inputs[1].is_ids);
  EXPECT_FALSE(mixed->truncate);
  EXPECT_FALSE(mixed->normalize);
  EXPECT_EQ(mixed->prompt_name, "query");
}

TEST(BodyReader, null_stands_for_an_absent_optional_key_and_unknown_keys_are_ignored) {
  const auto body = openai(
      R"({"user":null,"dimensions":null,"encoding_format":null,"model":null,"extra":{"input":[{}],"dimensions":[[1.5]]},
          "input":"a","more":[1,"b",{"c":null}]})");
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(body->inputs.size(), 1u);
  EXPECT_FALSE(body->dimensions);
  EXPECT_FALSE(body->base64);
  EXPECT_TRUE(tei(
      R"({"inputs":"a","truncate":null,"prompt_name":null,"normalize":null,"truncation_direction":"Right"})"));
}

TEST(BodyReader, of_a_repeated_key_the_last_one_holds) {
  const auto body = openai(R"({"input":["a","b"],"input":[1,2]})");
  ASSERT_TRUE(body);
  ASSERT_EQ(body->inputs.size(), 1u);
  EXPECT_TRUE(body->inputs[0].is_ids);
}

TEST(BodyReader, names_the_field_that_is_wrong) {
  const struct {
    const char* body;
    const char* param;
    const char* code;
  } rows[] = {
      {"", "", "invalid_json"},
      {"{", "", "invalid_json"},
      {R"({"input":"a"} x)", "", "invalid_json"},
      {"{\"input\":\"\xff\"}", "", "invalid_json"},
      {R"({"input":1e999})", "", "invalid_json"},
      {"[]", "", "invalid_type"},
      {"null", "", "invalid_type"},
      {"5", "", "invalid_type"},
      {R"("text")", "", "invalid_type"},
      {"{}", "input", "missing_required_parameter"},
      {R"({"input":[]})", "input", "empty_array"},
      {R"({"input":null})", "input", "invalid_type"},
      {R"({"input":5})", "input", "invalid_type"},
      {R"({"input":true})", "input", "invalid_type"},
      {R"({"input":{"text":"a"}})", "input", "invalid_type"},
      {R"({"input":[1.5]})", "input", "invalid_type"},
      {R"({"input":[null]})", "input", "invalid_type"},
      {R"({"input":["a",null]})", "input", "invalid_type"},
      {R"({"input":["a",7]})", "input", "invalid_type"},
      {R"({"input":[7,"a"]})", "input", "invalid_type"},
      {R"({"input":[7,[1]]})", "input", "invalid_type"},
      {R"({"input":[[1,"a"]]})", "input", "invalid_type"},
      {R"({"input":[[[1]]]})", "input", "invalid_type"},
      {R"({"input":[[]]})", "input", "invalid_value"},
      {R"({"input":[{}]})", "input", "invalid_type"},
      {R"({"input":[-1]})", "input", "invalid_value"},
      {R"({"input":[300]})", "input", "invalid_value"},
      {R"({"input":[18446744073709551615]})", "input", "invalid_value"},
      {R"({"input":[[1,2],[1,99999,2]]})", "input", "invalid_value"},
      {R"({"input":["1","2","3","4","5"]})", "input", "too_many_inputs"},
      {R"({"input":"a","dimensions":0})", "dimensions", "invalid_value"},
      {R"({"input":"a","dimensions":17})", "dimensions", "invalid_value"},
      {R"({"input":"a","dimensions":"8"})", "dimensions", "invalid_type"},
      {R"({"input":"a","dimensions":8.5})", "dimensions", "invalid_type"},
      {R"({"input":"a","encoding_format":"hex"})", "encoding_format", "invalid_value"},
      {R"({"input":"a","encoding_format":1})", "encoding_format", "invalid_type"},
      {R"({"input":"a","model":7})", "model", "invalid_type"},
      {R"({"input":"a","truncate":"yes"})", "truncate", "invalid_type"},
  };
  for (const auto& row : rows) {
    const auto body = openai(row.body);
    ASSERT_FALSE(body) << row.body;
    EXPECT_EQ(body.error().status, 400) << row.body;
    EXPECT_EQ(body.error().param, row.param) << row.body << ": " << body.error().message;
    EXPECT_EQ(body.error().code, row.code) << row.body << ": " << body.error().message;
  }
  EXPECT_EQ(tei(R"({"inputs":[]})").error().param, "inputs");
  EXPECT_EQ(tei(R"({"inputs":"a","truncation_direction":"Left"})").error().param, "truncation_direction");
}

TEST(BodyReader, names_the_element_that_is_wrong) {
  const struct {
    const char* body;
    const char* element;
    const char* found;
  } rows[] = {
      {R"({"input":5})", "\"input\"", "a number"},
      {R"({"input":[1.5]})", "\"input[0]\"", "not an integer"},
      {R"({"input":["a",7]})", "\"input[1]\"", "a number"},
      {R"({"input":["a",["b"]]})", "\"input[1][0]\"", "a string"},
      {R"({"input":["a","b",{}]})", "\"input[2]\"", "an object"},
      {R"({"input":[["a"]]})", "\"input[0][0]\"", "a string"},
      {R"({"input":[[1,2],null]})", "\"input[1]\"", "null"},
      {R"({"input":[[101,102],[101,1.5,102]]})", "\"input[1][1]\"", "not an integer"},
      {R"({"input":[[101,102],[101,[5]]]})", "\"input[1][1]\"", "an array"},
      {R"({"input":[[101,102],[101,102,false]]})", "\"input[1][2]\"", "a boolean"},
      {R"({"input":[101,102,"a"]})", "\"input[2]\"", "a string"},
      {R"({"input":[101,102,[1]]})", "\"input[2]\"", "an array"},
      {R"({"input":[101,102,1.5]})", "\"input[2]\"", "not an integer"},
      {R"({"input":[101,102,{}]})", "\"input[2]\"", "an object"},
      {R"({"input":[[101,102],[]]})", "\"input[1]\"", "empty"},
      {R"({"input":[101,300]})", "\"input[1]\"", "token id 300 "},
      {R"({"input":[[1],[101,-3]]})", "\"input[1][1]\"", "token id -3 "},
  };
  for (const auto& row : rows) {
    const auto body = openai(row.body);
    ASSERT_FALSE(body) << row.body;
    EXPECT_NE(body.error().message.find(row.element), std::string::npos) << row.body << body.error().message;
    EXPECT_NE(body.error().message.find(row.found), std::string::npos) << row.body << body.error().message;
  }
}

TEST(BodyReader, integers_beyond_64_bits_are_integers) {
  using namespace std::string_literals;
  for (const std::string& digits :
       {"18446744073709551615"s, "9223372036854775808"s, "1000000000000000000000000000000"s,
        "-1000000000000000000000000000000"s, "-9223372036854775809"s}) {
    const auto id = openai("{\"input\":[101," + digits + "]}");
    ASSERT_FALSE(id);
    EXPECT_EQ(id.error().code, "invalid_value");
    EXPECT_NE(id.error().message.find("\"input[1]\": token id " + digits + " is outside"), std::string::npos)
        << id.error().message;
    const auto dimensions = openai("{\"input\":\"a\",\"dimensions\":" + digits + "}");
    ASSERT_FALSE(dimensions);
    EXPECT_EQ(dimensions.error().code, "invalid_value");
    EXPECT_NE(dimensions.error().message.find("found " + digits), std::string::npos)
        << dimensions.error().message;
    EXPECT_TRUE(openai("{\"input\":\"a\",\"seed\":" + digits + "}"));
  }
}

TEST(BodyReader, refuses_deep_nesting_also_below_ignored_keys) {
  const std::string deep = R"({"input":"a","extra":)" + std::string(1'000'000, '[');
  EXPECT_NE(openai(deep).error().message.find("deeper than 64"), std::string::npos);
  EXPECT_TRUE(openai(R"({"input":"a","extra":)" + std::string(60, '[') + std::string(60, ']') + "}"));
}

}  // namespace
}  // namespace edge_infer
