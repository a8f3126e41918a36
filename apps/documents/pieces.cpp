#include "apps/documents/pieces.h"

#include <algorithm>

#include "apps/documents/sentences.h"

namespace edge_infer {
namespace {

// Text goes to the tokenizer in windows of about this size, so that its spans stay small.
constexpr size_t kWindow = size_t{1} << 16;

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t';
}
bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// Where to cut near `at`, which is no space, so that no character is torn: at or before it, but after `from`.
int64_t character_start(std::string_view text, int64_t from, int64_t at) {
  int64_t start = at;
  while (start > from + 1 && start > at - 4 && is_continuation(text[static_cast<size_t>(start)])) --start;
  return is_continuation(text[static_cast<size_t>(start)]) ? at : start;
}

}  // namespace

int64_t PieceCutter::count(std::string_view text) {
  tokenizer_.encode_spans(text, spans_);
  return static_cast<int64_t>(spans_.size());
}

void PieceCutter::cut_sentence(std::string_view text, ByteRange sentence, size_t first_token,
                               size_t last_token, int64_t max_tokens, int64_t part_tokens) {
  const auto all = static_cast<int64_t>(last_token - first_token);
  if (all <= max_tokens && sentence.end - sentence.start <= 32 * max_tokens) {
    pieces_.push_back({sentence.start, sentence.end, std::max<int64_t>(all, 1)});
    return;
  }
  const int64_t max_bytes = 32 * part_tokens;
  const auto fits = [&](int64_t tokens, int64_t bytes) {
    return tokens <= part_tokens && bytes <= max_bytes;
  };
  const auto byte = [&](int64_t at) { return text[static_cast<size_t>(at)]; };
  size_t token = first_token;
  for (int64_t begin = sentence.start; begin < sentence.end;) {
    // Tokens that fit, then the best place to cut: after a line in the second half, after a word, or
    // anywhere. (a token may reach beyond a sentence that ends within a word).
    size_t next = token;
    while (next < last_token &&
           fits(static_cast<int64_t>(next - token) + 1, std::min(spans_[next].end, sentence.end) - begin))
      ++next;
    int64_t end = sentence.end;
    if (next < last_token) {
      const int64_t limit = std::max(begin + 1, next > token ? spans_[next].begin : begin + max_bytes);
      end = std::max(begin + 1,
                     character_start(text, begin, std::min({limit, begin + max_bytes, sentence.end - 1})));
      int64_t line = -1, word = -1;
      for (int64_t at = end - 1; at > begin + (end - begin) / 4; --at) {
        if (byte(at) == '\n' && line < 0 && at > begin + (end - begin) / 2) line = at + 1;
        if (is_space(byte(at)) && word < 0) word = at + 1;
      }
      if (is_space(byte(end)) || is_space(byte(end - 1))) word = end;
      if (line > 0 || word > 0) end = line > 0 ? line : word;
    } else if (sentence.end - begin > max_bytes) {
      end = character_start(text, begin, begin + max_bytes);
    }
    int64_t tokens = 0;
    while (token < last_token && spans_[token].begin < end) {
      ++tokens;
      // A token that is longer than a piece may be counts in each.
      if (spans_[token].end > end && end < sentence.end) break;
      ++token;
    }
    int64_t from = begin, to = end;
    while (from < to && is_space(byte(from))) ++from;
    while (to > from && is_space(byte(to - 1))) --to;
    if (to > from) pieces_.push_back({from, to, std::max<int64_t>(tokens, 1)});
    begin = end;
  }
}

const std::vector<Piece>& PieceCutter::cut(const Block& block, int64_t max_tokens, int64_t part_tokens) {
  pieces_.clear();
  sentences_.clear();
  split_sentences(block.text, block.kind == Block::Kind::kCode, sentences_);
  const std::string_view text = block.text;
  for (size_t i = 0; i < sentences_.size() && !(stop_ && stop_());) {
    // A window of whole sentences; a sentence beyond the window is cut at spaces into windows of its own.
    const auto from = static_cast<size_t>(sentences_[i].start);
    size_t last = i;
    while (last + 1 < sentences_.size() && static_cast<size_t>(sentences_[last + 1].end) - from <= kWindow)
      ++last;
    auto to = static_cast<size_t>(sentences_[last].end);
    if (to - from > 2 * kWindow) {
      size_t cut = from + kWindow;
      while (cut > from + kWindow / 2 && !is_space(text[cut])) --cut;
      if (!is_space(text[cut]))
        cut = static_cast<size_t>(
            character_start(text, static_cast<int64_t>(from), static_cast<int64_t>(from + kWindow)));
      to = cut;
    }
    tokenizer_.encode_spans(text.substr(from, to - from), spans_);
    for (TokenSpan& span : spans_) {
      span.begin += static_cast<int64_t>(from);
      span.end += static_cast<int64_t>(from);
    }
    size_t token = 0;
    for (size_t s = i; s <= last; ++s) {
      ByteRange sentence = sentences_[s];
      sentence.end = std::min(sentence.end, static_cast<int64_t>(to));
      const size_t first = token;
      while (token < spans_.size() && spans_[token].begin < sentence.end) ++token;
      cut_sentence(text, sentence, first, token, max_tokens, part_tokens);
    }
    if (to < static_cast<size_t>(sentences_[last].end)) {
      while (to < text.size() && is_space(text[to])) ++to;
      sentences_[last].start = static_cast<int64_t>(to);
      i = last;
    } else {
      i = last + 1;
    }
  }
  return pieces_;
}

}  // namespace edge_infer
