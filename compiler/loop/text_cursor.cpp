#include "compiler/loop/text_cursor.h"

#include <charconv>
#include <cmath>

#include "compiler/loop/text.h"

namespace edge_infer::loop {
namespace {

constexpr size_t kMaxRank = 8;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

std::string TextCursor::where(size_t at) const {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < at && i < text_.size(); ++i) {
    ++column;
    if (text_[i] == '\n') ++line, column = 1;
  }
  return fmt::format("line {} column {}", line, column);
}

std::unexpected<Error> TextCursor::error_at(size_t at, std::string_view expected) const {
  std::string found = "the end";
  if (at < text_.size()) {
    const auto c = static_cast<unsigned char>(text_[at]);
    size_t end = at;
    while (end < text_.size() && end - at < 24 && is_name_char(text_[end])) ++end;
    found = end > at                ? fmt::format("\"{}\"", text_.substr(at, end - at))
            : c >= 0x20 && c < 0x7f ? fmt::format("\"{}\"", text_[at])
                                    : fmt::format("byte {:#04x}", c);
  }
  return fail(ErrorCode::kInvalidArgument, "{}: found {}, expected {}", where(at), found, expected);
}

std::unexpected<Error> TextCursor::refuse(size_t at, ErrorCode code, const std::string& message) const {
  return fail(code, "{}: {}", where(at), message);
}

void TextCursor::skip_space() {
  while (at_ < text_.size()) {
    if (text_.substr(at_, 2) == "//") {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (is_blank(text_[at_])) {
      ++at_;
    } else {
      return;
    }
  }
}

bool TextCursor::at_end() {
  skip_space();
  return at_ >= text_.size();
}
char TextCursor::peek() {
  skip_space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool TextCursor::accept(std::string_view token) {
  skip_space();
  if (text_.substr(at_, token.size()) != token) return false;
  at_ += token.size();
  return true;
}
Status TextCursor::expect(std::string_view token) {
  if (!accept(token)) return error(fmt::format("\"{}\"", token));
  return {};
}

std::string_view TextCursor::peek_word() {
  skip_space();
  size_t end = at_;
  while (end < text_.size() && is_name_char(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}
bool TextCursor::accept_word(std::string_view word) {
  if (peek_word() != word) return false;
  at_ += word.size();
  return true;
}
Status TextCursor::expect_word(std::string_view word) {
  if (!accept_word(word)) return error(fmt::format("\"{}\"", word));
  return {};
}

Result<std::string> TextCursor::name(std::string_view expected) {
  const std::string_view word = peek_word();
  if (word.empty()) return error(expected);
  at_ += word.size();
  return std::string(word);
}

Result<int64_t> TextCursor::integer() {
  skip_space();
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (code != std::errc{}) return error("an integer of 64 bits");
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

Result<int32_t> TextCursor::numbered(std::string_view prefix) {
  const std::string expected = fmt::format("\"{}\" and a number below {}", prefix, kMaxItems);
  skip_space();
  const size_t start = at_;
  if (!accept(prefix)) return error(expected);
  size_t digits = at_;
  int32_t value = 0;
  while (digits < text_.size() && is_digit(text_[digits]) && digits - at_ < 5)
    value = value * 10 + (text_[digits++] - '0');
  const bool padded = digits - at_ > 1 && text_[at_] == '0';
  if (digits == at_ || padded || static_cast<size_t>(value) >= kMaxItems ||
      (digits < text_.size() && is_name_char(text_[digits])))
    return error_at(start, expected);
  at_ = digits;
  return value;
}

Result<double> TextCursor::number() {
  skip_space();
  size_t at = at_;
  const bool negative = at < text_.size() && text_[at] == '-';
  if (negative) ++at;
  const auto finish = [&](double magnitude, size_t end) -> Result<double> {
    at_ = end;
    return negative ? -magnitude : magnitude;
  };
  for (const auto& [word, value] : {std::pair<std::string_view, double>{"inf", HUGE_VAL}, {"nan", NAN}})
    if (text_.substr(at, 3) == word && (at + 3 == text_.size() || !is_name_char(text_[at + 3])))
      return finish(value, at + 3);
  if (at >= text_.size() || (!is_digit(text_[at]) && text_[at] != '.')) return error("a number");
  const bool hex = text_.substr(at, 2) == "0x";
  if (hex) at += 2;
  double magnitude = 0;
  const auto [end, code] = std::from_chars(text_.data() + at, text_.data() + text_.size(), magnitude,
                                           hex ? std::chars_format::hex : std::chars_format::general);
  const auto stop = static_cast<size_t>(end - text_.data());
  if (code != std::errc{} || (stop < text_.size() && is_name_char(text_[stop])) || std::signbit(magnitude))
    return error("a number");
  return finish(magnitude, stop);
}

Result<DType> TextCursor::dtype() {
  const std::string_view word = peek_word();
  const auto found = parse_dtype(word);
  if (!found) return error("an element type (f32, i64, ...)");
  at_ += word.size();
  return *found;
}

Result<SymInt> TextCursor::size(std::string_view stops) {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  const size_t start = at_;
  int depth = 0;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '(') ++depth;
    if (depth == 0 && stops.find(c) != std::string_view::npos) break;
    if (c == ')') --depth;
    if (depth < 0) break;
  }
  auto size = SymInt::parse(text_.substr(start, at_ - start));
  if (!size) return refuse(start, size.error().code, size.error().message);
  return *std::move(size);
}

Result<std::vector<SymInt>> TextCursor::sizes() {
  EDGE_INFER_RETURN_IF_ERROR(expect("["));
  std::vector<SymInt> items;
  if (accept("]")) return items;
  do {
    if (items.size() >= kMaxRank)
      return refuse(at_, ErrorCode::kInvalidArgument, fmt::format("more than {} dimensions", kMaxRank));
    EDGE_INFER_ASSIGN(SymInt item, size(",]"));
    items.push_back(std::move(item));
  } while (accept(","));
  EDGE_INFER_RETURN_IF_ERROR(expect("]"));
  return items;
}

}  // namespace edge_infer::loop
