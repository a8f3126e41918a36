// One pass over a text: from bytes to tokens. The table path reads each character once; the general path
// normalizes a stretch of text as a whole where characters depend on their neighbours or the steps are not
// BERT's.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "models/tokenizers/char_table.h"
#include "models/tokenizers/normalizers.h"
#include "models/tokenizers/scratch.h"
#include "models/tokenizers/word_matcher.h"

namespace edge_infer {

// What scanning needs of a tokenizer; immutable and shared by threads.
struct ScannerTables {
  TokenizerDefinition definition;
  CharTable chars;  // empty: only the general path
  WordMatcher matcher;
  AddedTokenMatcher raw_tokens, normalized_tokens;
  std::array<unsigned char, 256>
      ascii_word{};  // the byte that an ASCII character of a word becomes; 0: another kind
};

// Sink: `static constexpr bool kSpans`; token(id, begin, end) and take_back(count). Offsets are bytes of the
// text.
template <typename Sink>
class Scanner {
 public:
  Scanner(const ScannerTables& tables, std::string_view text, TokenizerScratch& scratch, Sink& sink)
      : tables_(tables), text_(text), scratch_(scratch), word_(scratch.word), sink_(sink) {}

  void run() {
    auto& matches = scratch_.raw_matches;
    matches.clear();
    tables_.raw_tokens.find(text_, matches);
    size_t covered = 0;
    for (const AddedMatch& match : matches) {
      if (covered < match.begin) segment(covered, match.begin);
      sink_.token(match.id, static_cast<uint32_t>(match.begin), static_cast<uint32_t>(match.end));
      covered = match.end;
    }
    if (covered < text_.size()) segment(covered, text_.size());
  }

 private:
  void segment(size_t begin, size_t end) {
    if (tables_.chars.empty())
      general(begin, end);
    else
      table_path(begin, end);
  }

  void table_path(size_t begin, size_t end) {
    reset_word();
    for (size_t at = begin; at < end;) {
      if (tables_.ascii_word[byte(at)] != 0)
        at = ascii_run(at, end);
      else
        at = other_character(at, end);
    }
    flush_word();
  }

  // Appends the characters of a word from `at` on while they are ASCII; returns where they end.
  size_t ascii_run(size_t at, size_t end) {
    const size_t start = at;
    if (word_.size + 16 > word_.bytes.size()) grow_word(16);
    const size_t stop = std::min(end, at + (word_.bytes.size() - word_.size));
    if (word_.size == 0 && !word_.overflow) word_.first = static_cast<uint32_t>(at);
    char* out = word_.bytes.data() + word_.size;
    for (unsigned char mapped; at < stop && (mapped = tables_.ascii_word[byte(at)]) != 0; ++at)
      *out++ = static_cast<char>(mapped);
    if (word_.overflow) {
      word_.last = static_cast<uint32_t>(at);
      return at;
    }
    if constexpr (Sink::kSpans) {
      for (size_t i = start; i < at; ++i) {
        word_.begins[word_.size + (i - start)] = static_cast<uint32_t>(i);
        word_.ends[word_.size + (i - start)] = static_cast<uint32_t>(i + 1);
      }
    }
    word_.size += at - start;
    word_.last = static_cast<uint32_t>(at);
    check_overflow();
    return at;
  }

  size_t other_character(size_t at, size_t end) {
    const auto* base = reinterpret_cast<const unsigned char*>(text_.data());
    const unicode::Decoded found = unicode::decode(base + at, base + end);
    const CharEntry entry = tables_.chars.entry(found.code);
    const size_t next = at + found.length;
    switch (entry.kind()) {
      case CharKind::kSpace:
        flush_word();
        break;
      case CharKind::kDrop:
        break;
      case CharKind::kSelf:
        append_code(found.code, at, next);
        break;
      case CharKind::kMapped:
        append_code(entry.payload(), at, next);
        break;
      case CharKind::kSeveral:
        append(tables_.chars.several(entry), at, next);
        break;
      case CharKind::kSingle:
        flush_word();
        append_code(entry.payload(), at, next);
        flush_word();
        break;
      case CharKind::kGeneral:
        return general_stretch(at, end);
    }
    return next;
  }

  // The word around the character at `at`, which needs its neighbours, through the general path.
  size_t general_stretch(size_t at, size_t end) {
    const size_t begin = word_.size > 0 || word_.overflow ? word_.first : at;
    reset_word();
    const auto* base = reinterpret_cast<const unsigned char*>(text_.data());
    while (at < end) {
      const unicode::Decoded found = unicode::decode(base + at, base + end);
      const CharKind kind = tables_.chars.entry(found.code).kind();
      if (kind == CharKind::kSpace || kind == CharKind::kSingle) break;
      at += found.length;
    }
    general(begin, at);
    return at;
  }

  void general(size_t begin, size_t end) {
    CodeText& text = scratch_.text;
    text.clear();
    unicode::decode_all(text_.substr(begin, end - begin), static_cast<uint32_t>(begin), text);
    apply_normalizers(tables_.definition.normalizers, text);
    if (tables_.normalized_tokens.empty()) return words(0, text.size());
    encode_text();
    auto& matches = scratch_.normalized_matches;
    matches.clear();
    tables_.normalized_tokens.find(scratch_.utf8, matches);
    size_t covered = 0;
    for (const AddedMatch& match : matches) {
      const size_t first = char_at(match.begin), last = char_at(match.end);
      if (covered < first) words(covered, first);
      emit_chars(match.id, first, last);
      covered = last;
    }
    if (covered < text.size()) words(covered, text.size());
  }

  void encode_text() {
    scratch_.utf8.clear();
    scratch_.char_starts.clear();
    for (const CodeChar& c : scratch_.text) {
      scratch_.char_starts.push_back(static_cast<uint32_t>(scratch_.utf8.size()));
      unicode::append_utf8(c.code, scratch_.utf8);
    }
    scratch_.char_starts.push_back(static_cast<uint32_t>(scratch_.utf8.size()));
  }
  size_t char_at(size_t utf8_byte) const {
    const auto& starts = scratch_.char_starts;
    return static_cast<size_t>(std::ranges::lower_bound(starts, utf8_byte) - starts.begin());
  }

  // One token for characters [first, last) of the normalized text.
  void emit_chars(int32_t id, size_t first, size_t last) {
    if (first == last) return sink_.token(id, 0, 0);
    uint32_t begin = scratch_.text[first].begin, end = scratch_.text[first].end;
    for (size_t i = first; i < last; ++i) {
      begin = std::min(begin, scratch_.text[i].begin);
      end = std::max(end, scratch_.text[i].end);
    }
    sink_.token(id, begin, end);
  }

  void words(size_t first, size_t last) {
    auto& words = scratch_.words;
    words.clear();
    if (first < last) words.push_back({first, last});
    apply_pre_tokenizers(tables_.definition.pre_tokenizers, scratch_.text, words);
    for (const WordRange range : words) {
      reset_word();
      for (size_t i = range.begin; i < range.end; ++i) {
        const CodeChar& c = scratch_.text[i];
        append_code(c.code, c.begin, c.end);
      }
      flush_word();
    }
  }

  unsigned char byte(size_t at) const { return static_cast<unsigned char>(text_[at]); }

  void reset_word() {
    word_.size = 0;
    word_.overflow = false;
  }

  void append_code(uint32_t code, size_t begin, size_t end) {
    char bytes[4];
    append({bytes, static_cast<size_t>(unicode::encode(code, bytes))}, begin, end);
  }

  void append(std::string_view bytes, size_t begin, size_t end) {
    if (word_.size == 0 && !word_.overflow) word_.first = static_cast<uint32_t>(begin);
    word_.last = static_cast<uint32_t>(end);
    if (word_.overflow) return;
    if (word_.size + bytes.size() > word_.bytes.size()) grow_word(bytes.size());
    std::memcpy(word_.bytes.data() + word_.size, bytes.data(), bytes.size());
    if constexpr (Sink::kSpans) {
      for (size_t i = 0; i < bytes.size(); ++i) {
        word_.begins[word_.size + i] = static_cast<uint32_t>(begin);
        word_.ends[word_.size + i] = static_cast<uint32_t>(end);
      }
    }
    word_.size += bytes.size();
    check_overflow();
  }

  // A word with more bytes than the longest that is looked up is unknown: its bytes are not needed.
  void check_overflow() {
    if (word_.size <= tables_.matcher.max_bytes()) return;
    word_.overflow = true;
    word_.size = 0;
  }

  void grow_word(size_t more) {
    const size_t size = std::max<size_t>({512, word_.bytes.size() * 2, word_.size + more});
    word_.bytes.resize(size);
    word_.begins.resize(size);
    word_.ends.resize(size);
  }

  void flush_word() {
    if (word_.overflow) {
      sink_.token(tables_.matcher.unknown_id(), word_.first, word_.last);
    } else if (word_.size > 0) {
      tables_.matcher.match(
          {word_.bytes.data(), word_.size},
          [this](int32_t id, size_t begin, size_t end) { emit(id, begin, end); },
          [this](size_t count) { sink_.take_back(count); });
    }
    reset_word();
  }

  // One token for bytes [begin, end) of the word.
  void emit(int32_t id, size_t begin, size_t end) {
    if constexpr (Sink::kSpans) {
      const auto first = std::ranges::min_element(std::span(word_.begins).subspan(begin, end - begin));
      const auto last = std::ranges::max_element(std::span(word_.ends).subspan(begin, end - begin));
      sink_.token(id, *first, *last);
    } else {
      sink_.token(id, 0, 0);
    }
  }

  const ScannerTables& tables_;
  std::string_view text_;
  TokenizerScratch& scratch_;
  WordBuffer& word_;
  Sink& sink_;
};

}  // namespace edge_infer
