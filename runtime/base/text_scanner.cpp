#include "runtime/base/text_scanner.h"

#include <algorithm>
#include <charconv>

namespace edge_infer {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == ':' || c == '+' || c == '-';
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

constexpr char kDigits[] = "0123456789abcdef";

}  // namespace

bool TextScanner::accept(std::string_view token) {
  if (text_.substr(at_, token.size()) != token) return false;
  at_ += token.size();
  return true;
}

Status TextScanner::expect(std::string_view token) {
  if (!accept(token)) return error(token == "\n" ? "the end of the line" : quote_text(token));
  return {};
}

Result<int64_t> TextScanner::integer(int64_t lo, int64_t hi) {
  size_t end = at_;
  if (end < text_.size() && text_[end] == '-') ++end;
  while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
  int64_t value = 0;
  const auto [stop, code] = std::from_chars(text_.data() + at_, text_.data() + end, value);
  if (code != std::errc{} || stop != text_.data() + end || value < lo || value > hi ||
      std::to_string(value) != text_.substr(at_, end - at_))
    return error(fmt::format("a number in {}..{}", lo, hi));
  at_ = end;
  return value;
}

Result<std::string_view> TextScanner::word(std::string_view expected) {
  size_t end = at_;
  while (end < text_.size() && is_word(text_[end])) ++end;
  if (end == at_) return error(expected);
  const std::string_view result = text_.substr(at_, end - at_);
  at_ = end;
  return result;
}

Result<std::string> TextScanner::quoted() {
  EDGE_INFER_RETURN_IF_ERROR(expect("\""));
  std::string out;
  while (at_ < text_.size() && text_[at_] != '"') {
    const char c = text_[at_];
    if (c == '\\') {
      const int high = at_ + 3 < text_.size() && text_[at_ + 1] == 'x' ? digit(text_[at_ + 2]) : -1;
      const int low = high < 0 ? -1 : digit(text_[at_ + 3]);
      if (low < 0) return error("\\x and two digits");
      out += static_cast<char>(high * 16 + low);
      at_ += 4;
      continue;
    }
    if (c < 0x20 || c > 0x7e) return error("a printable character");
    out += c;
    ++at_;
  }
  EDGE_INFER_RETURN_IF_ERROR(expect("\""));
  return out;
}

Result<std::string_view> TextScanner::until(std::string_view end) {
  int depth = 0;
  for (size_t i = at_; i < text_.size(); ++i) {
    if (depth == 0 && text_.substr(i, end.size()) == end) {
      const std::string_view result = text_.substr(at_, i - at_);
      at_ = i;
      return result;
    }
    if (text_[i] == '\n') break;
    if (text_[i] == '(') ++depth;
    if (text_[i] == ')' && --depth < 0) break;
  }
  return error(fmt::format("text before {}", quote_text(end)));
}

Result<std::vector<std::string_view>> TextScanner::list(char end) {
  std::vector<std::string_view> items;
  if (accept({&end, 1})) return items;
  int depth = 0;
  size_t start = at_;
  for (size_t i = at_; i < text_.size() && text_[i] != '\n'; ++i) {
    const char c = text_[i];
    if (depth == 0 && (c == end || text_.substr(i, 2) == ", ")) {
      items.push_back(text_.substr(start, i - start));
      at_ = start = i + (c == end ? 1 : 2);
      if (c == end) return items;
      ++i;
      continue;
    }
    if (c == '(') ++depth;
    if (c == ')' && --depth < 0) break;
  }
  return error(fmt::format("a list closed by \"{}\"", end));
}

std::unexpected<Error> TextScanner::error(std::string_view expected) const {
  std::string found = "the end of the text";
  if (at_ < text_.size())
    found = text_[at_] == '\n'
                ? "the end of the line"
                : quote_text(text_.substr(at_, std::min<size_t>(16, text_.find('\n', at_) - at_)));
  return error_at_line(fmt::format("found {}, expected {}", found, expected));
}

std::unexpected<Error> TextScanner::error_at_line(const std::string& what) const {
  const std::string_view before = text_.substr(0, at_);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const size_t last = before.rfind('\n');
  return fail(ErrorCode::kCorruption, "line {} column {}: {}", lines + 1,
              last == std::string_view::npos ? at_ + 1 : at_ - last, what);
}

std::string quote_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c >= 0x20 && c <= 0x7e && c != '"' && c != '\\')
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out + '"';
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

Result<std::string> from_hex(std::string_view digits) {
  std::string out;
  if (digits.size() % 2 != 0)
    return fail(ErrorCode::kCorruption, "{} hexadecimal digits, expected pairs", digits.size());
  out.reserve(digits.size() / 2);
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = digit(digits[i]), low = digit(digits[i + 1]);
    if (high < 0 || low < 0) return fail(ErrorCode::kCorruption, "digit {} is not hexadecimal", i);
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

}  // namespace edge_infer
