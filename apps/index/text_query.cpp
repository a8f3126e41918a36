#include "apps/index/text_query.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <unordered_set>

namespace edge_infer {
namespace {

struct Range {
  int32_t first, last;
};

// Scripts that put no spaces between words: FTS5's unicode61 would make one word of a whole sentence.
constexpr Range kUnspaced[] = {
    {0x0E00, 0x0EFF},    // Thai, Lao
    {0x1000, 0x109F},    // Myanmar
    {0x1100, 0x11FF},    // Hangul letters
    {0x1780, 0x17FF},    // Khmer
    {0x3005, 0x3007},    // ideographic iteration and number marks
    {0x3040, 0x30FF},    // Hiragana, Katakana
    {0x3100, 0x312F},    // Bopomofo
    {0x3400, 0x4DBF},    // Han
    {0x4E00, 0x9FFF},    // Han
    {0xAC00, 0xD7A3},    // Hangul
    {0xF900, 0xFAFF},    // Han, compatibility
    {0xFF66, 0xFF9F},    // half-width Katakana
    {0x20000, 0x323AF},  // Han, supplementary
};

bool is_unspaced(int32_t c) {
  return std::any_of(std::begin(kUnspaced), std::end(kUnspaced),
                     [c](const Range& r) { return c >= r.first && c <= r.last; });
}

bool is_word_character(int32_t c) {
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
    case UTF8PROC_CATEGORY_CO:
      return true;
    default:
      return false;
  }
}

// A piece of one word: all of it of unspaced scripts, or none. `joined`: the word goes on on either side, in
// the other kind of script.
struct Piece {
  std::string_view text;
  bool unspaced = false, joined = false;
};

// Calls `visit(const Piece&)` for each piece. Bytes that are no UTF-8 separate words.
template <typename Visit>
void for_each_piece(std::string_view text, Visit visit) {
  size_t begin = 0, at = 0;
  bool inside = false, unspaced = false, joined = false;
  const auto end_piece = [&](bool joins) {
    if (inside) visit(Piece{text.substr(begin, at - begin), unspaced, joined || joins});
    inside = false;
  };
  while (at < text.size()) {
    utf8proc_int32_t c = 0;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
    const auto left = static_cast<utf8proc_ssize_t>(std::min<size_t>(text.size() - at, 4));
    const utf8proc_ssize_t length = utf8proc_iterate(bytes, left, &c);
    if (length <= 0 || !is_word_character(c)) {
      end_piece(false);
      at += length > 0 ? static_cast<size_t>(length) : 1;
      continue;
    }
    const bool kind = is_unspaced(c);
    const bool changes = inside && kind != unspaced;
    if (changes) end_piece(true);
    if (!inside) {
      begin = at;
      inside = true;
      unspaced = kind;
      joined = changes;
    }
    at += static_cast<size_t>(length);
  }
  end_piece(false);
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> result;
  for (size_t i = 0; i < text.size();) {
    size_t n = 1;
    while (i + n < text.size() && (static_cast<unsigned char>(text[i + n]) & 0xC0) == 0x80) ++n;
    result.push_back(text.substr(i, n));
    i += n;
  }
  return result;
}

std::string join(const std::vector<std::string>& terms, const char* separator) {
  std::string query;
  for (const std::string& term : terms) {
    if (!query.empty()) query += separator;
    query += term;
  }
  return query;
}

}  // namespace

std::string unspaced_bigrams(std::string_view text) {
  std::string words;
  const auto add = [&words](std::string_view word) {
    if (!words.empty()) words += ' ';
    words += word;
  };
  for_each_piece(text, [&](const Piece& piece) {
    if (!piece.unspaced) {
      // "GPU加速" is one word to FTS5, so its Latin half must be found here.
      if (piece.joined) add(piece.text);
      return;
    }
    const auto letters = characters(piece.text);
    for (size_t i = 0; i + 1 < letters.size(); ++i)
      add({letters[i].data(), letters[i].size() + letters[i + 1].size()});
    add(letters.back());  // with the pairs' first letters, each letter is the start of a word
  });
  return words;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for_each_piece(text, [&](const Piece& piece) { words.push_back(piece.text); });
  return words;
}

std::string TextQuery::all() const {
  return join(terms, " AND ");
}
std::string TextQuery::any() const {
  return join(terms, " OR ");
}

TextQuery parse_text_query(std::string_view text, size_t max_terms) {
  TextQuery query;
  std::unordered_set<std::string> seen;
  const auto add = [&](std::string_view word, const char* suffix) {
    if (query.terms.size() >= max_terms) return;
    std::string term = "\"";
    for (const char c : word) {
      const bool upper = c >= 'A' && c <= 'Z';
      term += upper ? static_cast<char>(c - 'A' + 'a') : c;
    }
    term += '"';
    term += suffix;
    if (seen.insert(term).second) query.terms.push_back(std::move(term));
  };
  for_each_piece(text, [&](const Piece& piece) {
    if (!piece.unspaced) return add(piece.text, "");
    const auto letters = characters(piece.text);
    if (letters.size() == 1) return add(letters[0], " *");
    for (size_t i = 0; i + 1 < letters.size(); ++i)
      add({letters[i].data(), letters[i].size() + letters[i + 1].size()}, "");
  });
  return query;
}

}  // namespace edge_infer
