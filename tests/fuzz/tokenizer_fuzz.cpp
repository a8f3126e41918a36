// The tokenizer on any bytes. An input that begins with "{" is a tokenizer.json, a line "---" and a text; any
// other is a text for tokenizers made once. The table path and the general path must agree, and ids and spans
// be in range.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "models/tokenizers/image.h"
#include "models/tokenizers/word_piece_tokenizer.h"

namespace {

using edge_infer::Encoding;
using edge_infer::Tokenizer;
using edge_infer::TokenSpan;

std::unique_ptr<Tokenizer> make(std::string_view json, bool table, bool lower) {
  auto parsed = edge_infer::parse_tokenizer(json, "fuzz.json");
  if (!parsed) {
    if (parsed.error().message.find("fuzz.json") == std::string::npos) std::abort();
    return nullptr;
  }
  const std::string skeleton = parsed->skeleton;
  const auto again = edge_infer::parse_skeleton(skeleton);
  if (!again || again->vocabulary_size != parsed->definition.vocabulary_size) std::abort();
  auto tables = edge_infer::TokenizerTables::build(std::move(*parsed), table);
  return tables ? edge_infer::make_word_piece_tokenizer(std::move(*tables), lower) : nullptr;
}

Encoding check(const Tokenizer& tokenizer, std::string_view text) {
  Encoding whole, cut;
  std::vector<TokenSpan> spans;
  tokenizer.encode(text, 0, whole);
  for (const int32_t id : whole.ids)
    if (id < 0 || id >= tokenizer.vocabulary_size()) std::abort();
  if (whole.truncated || whole.tokens != static_cast<int64_t>(whole.ids.size())) std::abort();
  tokenizer.encode(text, tokenizer.special_tokens() + 3, cut);
  if (cut.tokens != whole.tokens || cut.truncated != (whole.tokens > tokenizer.special_tokens() + 3))
    std::abort();
  if (static_cast<int64_t>(cut.ids.size()) > tokenizer.special_tokens() + 3) std::abort();
  tokenizer.encode_spans(text, spans);
  if (static_cast<int64_t>(spans.size()) + tokenizer.special_tokens() != whole.tokens) std::abort();
  int64_t previous = 0;
  for (const TokenSpan& span : spans) {
    if (span.begin < previous || span.end < span.begin || span.end > static_cast<int64_t>(text.size()))
      std::abort();
    previous = span.begin;
  }
  return whole;
}

constexpr std::string_view kBert = R"({"normalizer":{"type":"BertNormalizer","clean_text":true,
  "handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},
  "post_processor":{"type":"BertProcessing","cls":["[CLS]",1],"sep":["[SEP]",2]},"added_tokens":[
  {"id":1,"content":"[CLS]","normalized":false},{"id":0,"content":"[[","normalized":false,"lstrip":true},
  {"id":3,"content":"a","normalized":false,"single_word":true,"rstrip":true}],
  "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":7,
  "vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3,"##a":4,"ab":5,"##b":6,"e":7,"##e":8,"\u1100":9,"##\u1161":10,"!":11,
  "\u8239":12,"\u0301":13,"##\u0301":14,"i":15,"##i":16,"x":17,"##\u302e":18}}})";

struct Pair {
  std::unique_ptr<Tokenizer> table, general;
};

const std::vector<Pair>& fixed() {
  static const std::vector<Pair> pairs = [] {
    std::vector<Pair> out;
    out.push_back({make(kBert, true, false), make(kBert, false, false)});
    std::string cased(kBert);
    cased.replace(cased.find("\"lowercase\":true"), 16, "\"lowercase\":false");
    out.push_back({make(cased, true, true), make(cased, false, true)});
    return out;
  }();
  return pairs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with('{')) {
    constexpr std::string_view kMark = "\n---\n";
    const size_t end = input.find(kMark);
    const auto tokenizer = make(input.substr(0, end), false, false);
    if (tokenizer) check(*tokenizer, end == std::string_view::npos ? "" : input.substr(end + kMark.size()));
    return 0;
  }
  for (const Pair& pair : fixed())
    if (check(*pair.table, input).ids != check(*pair.general, input).ids) std::abort();
  return 0;
}
