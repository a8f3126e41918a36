#include "models/tokenizers/word_piece_tokenizer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "models/tokenizers/scanner.h"

namespace edge_infer {
namespace {

// Keeps ids up to a limit, counts all.
struct IdSink {
  static constexpr bool kSpans = false;
  std::vector<int32_t>& ids;
  size_t first;  // of ids that are tokens of the text
  size_t limit;  // ids.size() at most
  size_t count = 0;

  void token(int32_t id, uint32_t, uint32_t) {
    ++count;
    if (ids.size() < limit) ids.push_back(id);
  }
  void take_back(size_t n) {
    count -= n;
    if (ids.size() > first + count) ids.resize(first + count);
  }
};

struct SpanSink {
  static constexpr bool kSpans = true;
  std::vector<TokenSpan>& spans;

  void token(int32_t, uint32_t begin, uint32_t end) {
    const int64_t after = spans.empty() ? 0 : spans.back().begin;
    const int64_t first = std::max<int64_t>(begin, after);
    spans.push_back({first, std::max<int64_t>(end, first)});
  }
  void take_back(size_t n) { spans.resize(spans.size() - n); }
};

TokenizerScratch& thread_scratch() {
  thread_local TokenizerScratch scratch;
  return scratch;
}

struct ScratchLease {
  TokenizerScratch& scratch = thread_scratch();
  ~ScratchLease() { scratch.trim(); }
};

class WordPieceTokenizer final : public Tokenizer {
 public:
  WordPieceTokenizer(TokenizerTables storage, bool lower_first)
      : storage_(std::move(storage)), lower_first_(lower_first), rewrites_(lower_first) {
    const TokenizerDefinition& definition = tables_.definition = storage_.definition();
    tables_.matcher = WordMatcher(storage_.vocabulary(), definition);
    make_added_tokens();
    if (tables_.normalized_tokens.empty()) tables_.chars = storage_.char_table();
    if (!tables_.chars.empty()) fill_ascii();
  }

  void encode(std::string_view text, int64_t max_length, Encoding& out) const override {
    const ScratchLease lease;
    const TokenizerDefinition& definition = tables_.definition;
    const auto special = static_cast<size_t>(special_tokens());
    const bool clipped = clip(text);
    const size_t room = max_length <= 0
                            ? std::numeric_limits<size_t>::max()
                            : static_cast<size_t>(std::max<int64_t>(max_length, special_tokens())) - special;
    out.ids.assign(definition.prefix.begin(), definition.prefix.end());
    const size_t first = out.ids.size();
    const bool keep_all = room == std::numeric_limits<size_t>::max() || definition.truncate_left;
    IdSink sink{out.ids, first, keep_all ? std::numeric_limits<size_t>::max() : first + room};
    scan(text, lease.scratch, sink);
    const size_t count = out.ids.size() - first;
    if (count > room) {
      const auto begin = out.ids.begin() + static_cast<ptrdiff_t>(first);
      out.ids.erase(begin, begin + static_cast<ptrdiff_t>(count - room));
    }
    out.ids.insert(out.ids.end(), definition.suffix.begin(), definition.suffix.end());
    out.tokens = static_cast<int64_t>(sink.count + special);
    out.truncated = clipped || sink.count > room;
  }

  void encode_spans(std::string_view text, std::vector<TokenSpan>& out) const override {
    const ScratchLease lease;
    clip(text);
    out.clear();
    SpanSink sink{out};
    scan(text, lease.scratch, sink);
    if (!rewrites_) return;
    const TokenizerScratch& scratch = lease.scratch;
    for (TokenSpan& span : out) {
      const auto begin = static_cast<size_t>(span.begin), end = static_cast<size_t>(span.end);
      if (scratch.rewritten.empty()) continue;
      span.begin = scratch.rewritten_begins[std::min(begin, scratch.rewritten.size() - 1)];
      span.end = std::max<int64_t>(span.begin, end == 0 ? 0 : scratch.rewritten_ends[end - 1]);
    }
  }

  int64_t special_tokens() const override {
    return static_cast<int64_t>(tables_.definition.prefix.size() + tables_.definition.suffix.size());
  }
  int64_t vocabulary_size() const override { return tables_.definition.vocabulary_size; }

 private:
  // Offsets are 32 bits wide: what lies beyond is cut off.
  static bool clip(std::string_view& text) {
    constexpr size_t kMaxBytes = std::numeric_limits<uint32_t>::max();
    if (text.size() <= kMaxBytes) return false;
    text = text.substr(0, kMaxBytes);
    return true;
  }

  template <typename Sink>
  void scan(std::string_view text, TokenizerScratch& scratch, Sink& sink) const {
    if (rewrites_) text = rewrite(text, scratch);
    Scanner<Sink>(tables_, text, scratch, sink).run();
  }

  // The text as valid UTF-8, in lower case if that was asked for, with the way back to its bytes.
  std::string_view rewrite(std::string_view text, TokenizerScratch& scratch) const {
    CodeText& codes = scratch.text;
    codes.clear();
    unicode::decode_all(text, 0, codes);
    if (lower_first_) unicode::lower_case_words(codes);
    scratch.rewritten.clear();
    scratch.rewritten_begins.clear();
    scratch.rewritten_ends.clear();
    for (const CodeChar& c : codes) {
      unicode::append_utf8(c.code, scratch.rewritten);
      scratch.rewritten_begins.resize(scratch.rewritten.size(), c.begin);
      scratch.rewritten_ends.resize(scratch.rewritten.size(), c.end);
    }
    return scratch.rewritten;
  }

  void make_added_tokens() {
    std::vector<AddedToken> raw, normalized;
    std::vector<std::string> raw_patterns, normalized_patterns;
    for (const AddedToken& token : tables_.definition.added_tokens) {
      if (!token.normalized) {
        raw.push_back(token);
        raw_patterns.push_back(token.content);
        // Bytes that are not UTF-8 count as U+FFFD, which a pattern may hold.
        rewrites_ |= token.content.find("\xef\xbf\xbd") != std::string::npos;
        continue;
      }
      CodeText text;
      unicode::decode_all(token.content, 0, text);
      apply_normalizers(tables_.definition.normalizers, text);
      std::string pattern;
      for (const CodeChar& c : text) unicode::append_utf8(c.code, pattern);
      normalized.push_back(token);
      normalized_patterns.push_back(std::move(pattern));
    }
    tables_.raw_tokens = AddedTokenMatcher(raw, raw_patterns);
    tables_.normalized_tokens = AddedTokenMatcher(normalized, normalized_patterns);
  }

  void fill_ascii() {
    for (uint32_t code = 1; code < 0x80; ++code) {
      const CharEntry entry = tables_.chars.entry(code);
      if (entry.kind() == CharKind::kSelf) tables_.ascii_word[code] = static_cast<unsigned char>(code);
      if (entry.kind() == CharKind::kMapped && entry.payload() < 0x80)
        tables_.ascii_word[code] = static_cast<unsigned char>(entry.payload());
    }
  }

  TokenizerTables storage_;  // what the views in tables_ point into
  ScannerTables tables_;
  bool lower_first_ = false;
  bool rewrites_ = false;  // the text is decoded and encoded anew before anything looks at it
};

}  // namespace

std::unique_ptr<Tokenizer> make_word_piece_tokenizer(TokenizerTables tables, bool lower_first) {
  return std::make_unique<WordPieceTokenizer>(std::move(tables), lower_first);
}

}  // namespace edge_infer
