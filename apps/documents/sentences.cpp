#include "apps/documents/sentences.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace edge_infer {
namespace {

constexpr std::array<std::string_view, 52> kAbbreviations = {
    "al",  "approx", "apr", "aug", "bzgl", "bzw", "ca",   "cf",  "co",  "corp", "dec",  "dr",   "ed",
    "eq",  "evtl",   "feb", "fig", "ggf",  "inc", "incl", "jan", "jr",  "jul",  "jun",  "ltd",  "max",
    "min", "mr",     "mrs", "ms",  "no",   "nov", "nr",   "oct", "op",  "pp",   "prof", "resp", "sec",
    "sep", "sept",   "sog", "sr",  "st",   "str", "tab",  "tel", "vgl", "vol",  "vs",   "abb",  "usf"};

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_alpha(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Quotes and brackets that may stand between a full stop and the space: their size in bytes, or 0.
size_t closer(std::string_view text, size_t at) {
  for (const std::string_view c :
       {"\"", "'", ")", "]", "\xe2\x80\x9d", "\xe2\x80\x99", "\xe2\x80\x9c", "\xc2\xbb"})
    if (text.substr(at).starts_with(c)) return c.size();
  return 0;
}

bool is_abbreviation(std::string_view text, size_t stop) {
  size_t from = stop;
  while (from > 0 && stop - from < 12 && is_alpha(text[from - 1])) --from;
  const std::string_view word = text.substr(from, stop - from);
  if (word.size() == 1) return true;  // initials, "e.g.", "z.B."
  std::string low(word);
  std::transform(low.begin(), low.end(), low.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return std::find(kAbbreviations.begin(), kAbbreviations.end(), low) != kAbbreviations.end();
}

// The size of a full stop that needs no space after it (CJK), or 0.
size_t wide_stop(std::string_view text, size_t at) {
  for (const std::string_view c : {"\xe3\x80\x82", "\xef\xbc\x81", "\xef\xbc\x9f", "\xef\xbd\xa1"})
    if (text.substr(at).starts_with(c)) return c.size();
  return 0;
}

bool starts_item(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  for (const std::string_view mark : {"- ", "* ", "+ ", "\xe2\x80\xa2 ", "o "})
    if (text.substr(at).starts_with(mark)) return true;
  size_t digits = at;
  while (digits < text.size() && digits - at < 3 && is_digit(text[digits])) ++digits;
  return digits > at && digits + 1 < text.size() && (text[digits] == '.' || text[digits] == ')') &&
         text[digits + 1] == ' ';
}

// The end of the sentence that `at` stands in the last characters of, or 0 when it goes on.
size_t sentence_end(std::string_view text, size_t at) {
  const char c = text[at];
  if (const size_t wide = wide_stop(text, at); wide > 0) {
    size_t end = at + wide;
    while (end < text.size()) {
      const size_t more = closer(text, end);
      if (more == 0) break;
      end += more;
    }
    return end;
  }
  if (c != '.' && c != '!' && c != '?') return 0;
  size_t end = at + 1;
  for (int i = 0; i < 3 && end < text.size(); ++i) end += closer(text, end);
  if (end < text.size() && !is_space(text[end])) return 0;
  size_t next = end;
  while (next < text.size() && is_space(text[next])) ++next;
  if (next < text.size() && is_lower(text[next])) return 0;
  if (c == '.' && next < text.size() && is_abbreviation(text, at)) return 0;
  return end;
}

}  // namespace

void split_sentences(std::string_view text, bool by_line, std::vector<ByteRange>& out) {
  size_t start = 0;
  const auto close = [&](size_t end) {
    size_t from = start, to = end;
    while (from < to && is_space(text[from])) ++from;
    while (to > from && is_space(text[to - 1])) --to;
    if (to > from) out.push_back({static_cast<int64_t>(from), static_cast<int64_t>(to)});
    start = end;
  };
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      const bool blank = at + 1 < text.size() && text[at + 1] == '\n';
      if (by_line || blank || starts_item(text, at + 1)) {
        // Indentation is part of a line of code.
        close(at);
        start = at + 1;
      }
      ++at;
    } else if (const size_t end = by_line ? 0 : sentence_end(text, at); end > 0) {
      close(end);
      at = end;
    } else {
      ++at;
    }
  }
  close(text.size());
}

}  // namespace edge_infer
