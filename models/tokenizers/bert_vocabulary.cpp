// Model folders older than tokenizer.json: vocab.txt and the options of transformers' BertTokenizer.
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "models/tokenizers/definition.h"

namespace edge_infer {
namespace {

using Json = nlohmann::json;

// A token's content: a string, or an object with a member of that name.
Result<std::string> special_token(const JsonObject& config, const char* key, const char* fallback) {
  if (!config.has(key) || config.json().at(key).is_string()) return config.text_or(key, fallback);
  EDGE_INFER_ASSIGN(const JsonObject token, config.object(key));
  return token.text("content");
}

Status check_class(const JsonObject& config) {
  EDGE_INFER_ASSIGN(const std::string name, config.text_or("tokenizer_class", "BertTokenizer"));
  constexpr std::array<std::string_view, 6> kKnown = {"BertTokenizer",       "BertTokenizerFast",
                                                      "DistilBertTokenizer", "DistilBertTokenizerFast",
                                                      "ElectraTokenizer",    "ElectraTokenizerFast"};
  if (std::ranges::find(kKnown, name) != kKnown.end()) return {};
  return fail(ErrorCode::kUnsupported,
              "{}: member \"tokenizer_class\": found {} without a tokenizer.json, expected BertTokenizer",
              config.label(), quote(name));
}

// One token a line; the line's number is the id.
std::map<std::string, int64_t> read_lines(std::string_view text) {
  std::map<std::string, int64_t> out;
  for (int64_t line = 0; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view token = text.substr(0, end);
    if (token.ends_with('\r')) token.remove_suffix(1);
    out[std::string(token)] = line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

Result<std::string> bert_tokenizer_json(std::string_view vocabulary, const JsonObject& config,
                                        const std::string& label) {
  EDGE_INFER_RETURN_IF_ERROR(check_class(config));
  const auto vocab = read_lines(vocabulary);
  EDGE_INFER_ASSIGN(const std::string unk, special_token(config, "unk_token", "[UNK]"));
  EDGE_INFER_ASSIGN(const std::string sep, special_token(config, "sep_token", "[SEP]"));
  EDGE_INFER_ASSIGN(const std::string pad, special_token(config, "pad_token", "[PAD]"));
  EDGE_INFER_ASSIGN(const std::string cls, special_token(config, "cls_token", "[CLS]"));
  EDGE_INFER_ASSIGN(const std::string mask, special_token(config, "mask_token", "[MASK]"));
  EDGE_INFER_ASSIGN(const bool lower, config.boolean_or("do_lower_case", true));
  EDGE_INFER_ASSIGN(const bool chinese, config.boolean_or("tokenize_chinese_chars", true));
  EDGE_INFER_ASSIGN(const bool strip, config.boolean_or("strip_accents", lower));

  Json out;
  Json& added = out["added_tokens"] = Json::array();
  for (const std::string& token : {unk, sep, pad, cls, mask}) {
    const auto entry = vocab.find(token);
    if (entry == vocab.end())
      return fail(ErrorCode::kCorruption, "\"{}\": the tokenizer's special token {} is not in the vocabulary",
                  label, quote(token));
    added.push_back({{"id", entry->second}, {"content", token}, {"special", true}, {"normalized", false}});
  }
  out["normalizer"] = {{"type", "BertNormalizer"},
                       {"clean_text", true},
                       {"handle_chinese_chars", chinese},
                       {"strip_accents", strip},
                       {"lowercase", lower}};
  out["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  out["post_processor"] = {
      {"type", "BertProcessing"}, {"sep", {sep, vocab.at(sep)}}, {"cls", {cls, vocab.at(cls)}}};
  out["model"] = {{"type", "WordPiece"},
                  {"unk_token", unk},
                  {"continuing_subword_prefix", "##"},
                  {"max_input_chars_per_word", 100},
                  {"vocab", vocab}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace edge_infer
