// Small tokenizer.json files for tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace edge_infer::testing_support {

inline nlohmann::json small_tokenizer(const std::vector<std::string>& tokens = {
                                          "[UNK]", "[CLS]", "[SEP]", "hello", "world", "run", "##ning", "##s",
                                          "a", "##a", "b", "##b", ",", "!", "e", "##e", "船", "i", "##i"}) {
  nlohmann::json out;
  out["normalizer"] = {{"type", "BertNormalizer"},
                       {"clean_text", true},
                       {"handle_chinese_chars", true},
                       {"strip_accents", nullptr},
                       {"lowercase", true}};
  out["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  out["post_processor"] = {{"type", "BertProcessing"}, {"cls", {"[CLS]", 1}}, {"sep", {"[SEP]", 2}}};
  out["added_tokens"] = nlohmann::json::array();
  auto& model = out["model"] = {{"type", "WordPiece"},
                                {"unk_token", "[UNK]"},
                                {"continuing_subword_prefix", "##"},
                                {"max_input_chars_per_word", 100}};
  for (size_t id = 0; id < tokens.size(); ++id) model["vocab"][tokens[id]] = id;
  return out;
}

}  // namespace edge_infer::testing_support
