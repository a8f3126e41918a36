// TextScanner: what the parsers of our own line-oriented text forms share. Strict: exactly the text that the
// matching printer writes is accepted, so spaces and line ends are tokens like any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  // Takes `token` where it is next.
  bool accept(std::string_view token);
  // Errors of everything below: kCorruption "line 3 column 7: found ..., expected ...".
  Status expect(std::string_view token);
  // A decimal number in lo..hi, without sign unless negative, without leading zeros.
  Result<int64_t> integer(int64_t lo, int64_t hi);
  // One or more of letters, digits and "_.:+-".
  Result<std::string_view> word(std::string_view expected);
  // What quote_text() writes.
  Result<std::string> quoted();
  // Everything up to `end`, which is not taken, outside of parentheses and on this line.
  Result<std::string_view> until(std::string_view end);
  // Items separated by ", " and closed by `end`, which is taken; commas inside parentheses separate nothing.
  Result<std::vector<std::string_view>> list(char end);

  std::unexpected<Error> error(std::string_view expected) const;
  std::unexpected<Error> error_at_line(const std::string& what) const;
  size_t position() const { return at_; }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

// Printable ASCII in double quotes; quote, backslash and other bytes as \xNN.
std::string quote_text(std::string_view text);
// Lower-case digits, two a byte.
std::string to_hex(std::string_view bytes);
// Errors: kCorruption for anything but pairs of lower-case digits.
Result<std::string> from_hex(std::string_view digits);

}  // namespace edge_infer
