// A user's words as FTS5 queries. What a user types never reaches FTS5's query language: each term is a
// quoted string, so no input is a syntax error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace edge_infer {

// The runs of scripts written without spaces (Han, kana, Hangul, Thai, ...) of `text`, as overlapping pairs
// of characters between spaces, which the word tokenizer of FTS5 can index: "今天天气" -> "今天 天天 天气".
// Runs are kept apart by a separator, so that no phrase crosses them. Empty for text without such scripts.
// Any bytes are fine.
std::string unspaced_bigrams(std::string_view text);

// The words of `text`, in order: runs of letters, marks and digits, cut where a script written without spaces
// begins or ends. Any bytes are fine.
std::vector<std::string_view> split_words(std::string_view text);

struct TextQuery {
  std::vector<std::string> terms;  // each a quoted FTS5 string, without duplicates, in order of the text
  std::string all() const;         // terms joined by AND
  std::string any() const;         // terms joined by OR
};

// At most `max_terms` terms are kept (a pasted page must not make a query of thousands). Empty when the text
// holds no letter or digit.
TextQuery parse_text_query(std::string_view text, size_t max_terms = 64);

}  // namespace edge_infer
