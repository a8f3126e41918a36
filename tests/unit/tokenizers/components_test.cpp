// Every normalizer, pre-tokenizer, post-processor and kind of added token against Hugging Face `tokenizers`
// (tests/data/tokenizer/make_components.py).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "models/tokenizers/tokenizer.h"
#include "tests/unit/models_files/temporary_dir.h"

namespace edge_infer {
namespace {

using Json = nlohmann::json;
using testing_support::TemporaryDir;

std::vector<Json> read_lines(const char* path) {
  std::vector<Json> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) out.push_back(Json::parse(line));
  return out;
}

Json with_vocabulary(Json tokenizer, const Json& vocabulary) {
  Json& vocab = tokenizer["model"]["vocab"] = Json::object();
  for (size_t id = 0; id < vocabulary.size(); ++id) vocab[vocabulary[id].get<std::string>()] = id;
  return tokenizer;
}

// Where several characters become one, our span covers them all and theirs the first or last; a prepended
// text has no place in the input.
enum class SpanRule { kEqual, kCovers, kNone };
SpanRule span_rule(std::string_view name) {
  if (name == "Prepend") return SpanRule::kNone;
  return name.contains("NFC") || name.contains("NFKC") || name.contains("Replace") ? SpanRule::kCovers
                                                                                   : SpanRule::kEqual;
}

bool agree(SpanRule rule, const std::vector<TokenSpan>& found, const Json& expected) {
  if (rule == SpanRule::kNone) return true;
  if (found.size() != expected.size()) return false;
  for (size_t i = 0; i < found.size(); ++i) {
    const auto begin = expected[i][0].get<int64_t>(), end = expected[i][1].get<int64_t>();
    if (rule == SpanRule::kEqual && (found[i].begin != begin || found[i].end != end)) return false;
    if (found[i].begin > begin || found[i].end < end) return false;
  }
  return true;
}

struct Failures {
  int ids = 0, spans = 0;
};

TEST(TokenizerComponents, agree_with_hugging_face_on_ids_and_spans) {
  const auto lines = read_lines("tests/data/tokenizer/components.jsonl");
  ASSERT_GT(lines.size(), 80u);
  int64_t cases = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const Json& line = lines[i];
    const auto name = line.at("name").get<std::string>();
    TemporaryDir dir;
    dir.put("tokenizer.json", with_vocabulary(line.at("tokenizer"), lines[0].at("vocab")).dump());
    const auto tokenizer = Tokenizer::load(dir.path());
    ASSERT_TRUE(tokenizer) << name << ": " << tokenizer.error().message;
    Encoding encoding;
    std::vector<TokenSpan> spans;
    Failures failures;
    for (const Json& c : line.at("cases")) {
      const auto text = c.at("text").get<std::string>();
      (*tokenizer)->encode(text, 0, encoding);
      ++cases;
      if (encoding.ids != c.at("ids").get<std::vector<int32_t>>() && ++failures.ids <= 2)
        ADD_FAILURE() << name << ": ids of " << Json(text).dump(-1, ' ', true) << "\n  " << Json(encoding.ids)
                      << "\n  " << c.at("ids");
      (*tokenizer)->encode_spans(text, spans);
      EXPECT_EQ(static_cast<int64_t>(spans.size()), encoding.tokens - (*tokenizer)->special_tokens()) << name;
      Json found = Json::array();
      for (const TokenSpan& span : spans) found.push_back({span.begin, span.end});
      if (!agree(span_rule(name), spans, c.at("spans")) && ++failures.spans <= 2)
        ADD_FAILURE() << name << ": spans of " << Json(text).dump(-1, ' ', true) << "\n  " << found << "\n  "
                      << c.at("spans");
    }
    EXPECT_EQ(failures.ids, 0) << name;
    EXPECT_EQ(failures.spans, 0) << name;
  }
  RecordProperty("cases", std::to_string(cases));
}

}  // namespace
}  // namespace edge_infer
