#include "models/tokenizers/pre_tokenizers.h"

#include <algorithm>

namespace edge_infer {
namespace {

// A stretch of text that is, or is not, a match of a splitter's pattern.
struct Piece {
  size_t begin, end;
  bool match;
};
using Pieces = std::vector<Piece>;

// Each character that satisfies `test` is a match of its own.
template <typename Test>
void find_characters(const CodeText& text, WordRange range, Test test, Pieces& out) {
  size_t start = range.begin;
  for (size_t i = range.begin; i < range.end; ++i) {
    if (!test(text[i].code)) continue;
    if (start < i) out.push_back({start, i, false});
    out.push_back({i, i + 1, true});
    start = i + 1;
  }
  if (start < range.end) out.push_back({start, range.end, false});
}

void find_text(const CodeText& text, WordRange range, const std::u32string& pattern, Pieces& out) {
  size_t at = range.begin;
  const auto same = [](const CodeChar& c, char32_t code) { return c.code == code; };
  while (!pattern.empty()) {
    const auto end = text.begin() + static_cast<ptrdiff_t>(range.end);
    const auto found =
        std::search(text.begin() + static_cast<ptrdiff_t>(at), end, pattern.begin(), pattern.end(), same);
    if (found == end) break;
    const auto position = static_cast<size_t>(found - text.begin());
    if (at < position) out.push_back({at, position, false});
    out.push_back({position, position + pattern.size(), true});
    at = position + pattern.size();
  }
  if (at < range.end) out.push_back({at, range.end, false});
}

// \w+|[^\w\s]+ : the matches are the words.
void find_words(const CodeText& text, WordRange range, std::vector<WordRange>& out) {
  enum class Kind { kSpace, kWord, kOther };
  const auto kind_of = [](uint32_t code) {
    if (unicode::is_white_space(code)) return Kind::kSpace;
    return unicode::is_word(code) ? Kind::kWord : Kind::kOther;
  };
  for (size_t i = range.begin; i < range.end;) {
    const Kind kind = kind_of(text[i].code);
    size_t end = i + 1;
    while (end < range.end && kind_of(text[end].code) == kind) ++end;
    if (kind != Kind::kSpace) out.push_back({i, end});
    i = end;
  }
}

void merge_with_previous(const Pieces& pieces, std::vector<WordRange>& out, size_t first) {
  bool previous = false;
  for (const Piece& piece : pieces) {
    if (piece.match && !previous && out.size() > first)
      out.back().end = piece.end;
    else
      out.push_back({piece.begin, piece.end});
    previous = piece.match;
  }
}

void merge_with_next(const Pieces& pieces, std::vector<WordRange>& out, size_t first) {
  bool previous = false;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    if (piece->match && !previous && out.size() > first)
      out.back().begin = piece->begin;
    else
      out.push_back({piece->begin, piece->end});
    previous = piece->match;
  }
  std::reverse(out.begin() + static_cast<ptrdiff_t>(first), out.end());
}

void join(const Pieces& pieces, SplitBehavior behavior, std::vector<WordRange>& out) {
  const size_t first = out.size();
  switch (behavior) {
    case SplitBehavior::kRemoved:
      for (const Piece& piece : pieces)
        if (!piece.match) out.push_back({piece.begin, piece.end});
      return;
    case SplitBehavior::kIsolated:
      for (const Piece& piece : pieces) out.push_back({piece.begin, piece.end});
      return;
    case SplitBehavior::kContiguous: {
      bool previous = false;
      for (const Piece& piece : pieces) {
        if (piece.match == previous && out.size() > first)
          out.back().end = piece.end;
        else
          out.push_back({piece.begin, piece.end});
        previous = piece.match;
      }
      return;
    }
    case SplitBehavior::kMergedWithPrevious:
      return merge_with_previous(pieces, out, first);
    case SplitBehavior::kMergedWithNext:
      return merge_with_next(pieces, out, first);
  }
}

void split_bert(const CodeText& text, WordRange range, std::vector<WordRange>& out) {
  size_t start = range.begin;
  for (size_t i = range.begin; i < range.end; ++i) {
    const bool space = unicode::is_white_space(text[i].code);
    if (!space && !unicode::is_punctuation(text[i].code)) continue;
    if (start < i) out.push_back({start, i});
    if (!space) out.push_back({i, i + 1});
    start = i + 1;
  }
  if (start < range.end) out.push_back({start, range.end});
}

void split(const PreTokenizerStep& step, const CodeText& text, WordRange range, Pieces& pieces,
           std::vector<WordRange>& out) {
  pieces.clear();
  switch (step.kind) {
    case PreTokenizerKind::kBert:
      return split_bert(text, range, out);
    case PreTokenizerKind::kWhitespace:
      return find_words(text, range, out);
    case PreTokenizerKind::kWhitespaceSplit:
      find_characters(text, range, unicode::is_white_space, pieces);
      return join(pieces, SplitBehavior::kRemoved, out);
    case PreTokenizerKind::kPunctuation:
      find_characters(text, range, unicode::is_punctuation, pieces);
      return join(pieces, step.behavior, out);
    case PreTokenizerKind::kDigits:
      find_characters(
          text, range, [](uint32_t c) { return unicode::contains(unicode::kNumeric, c); }, pieces);
      return join(pieces, step.individual_digits ? SplitBehavior::kIsolated : SplitBehavior::kContiguous,
                  out);
    case PreTokenizerKind::kSplit:
      find_text(text, range, step.pattern, pieces);
      if (step.invert)
        for (Piece& piece : pieces) piece.match = !piece.match;
      return join(pieces, step.behavior, out);
    case PreTokenizerKind::kCharDelimiter:
      find_text(text, range, step.pattern, pieces);
      return join(pieces, SplitBehavior::kRemoved, out);
  }
}

}  // namespace

void apply_pre_tokenizers(std::span<const PreTokenizerStep> steps, const CodeText& text,
                          std::vector<WordRange>& words) {
  Pieces pieces;
  std::vector<WordRange> next;
  for (const PreTokenizerStep& step : steps) {
    next.clear();
    for (const WordRange range : words) split(step, text, range, pieces, next);
    words.swap(next);
  }
}

}  // namespace edge_infer
