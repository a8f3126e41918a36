// A position in the text of a nest: tokens, numbers and errors with line and column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/loop/loop_nest.h"

namespace edge_infer::loop {

class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }
  bool at_end();  // nothing but space and comments is left
  // "line 3 column 7: found "x", expected <expected>", kInvalidArgument.
  std::unexpected<Error> error(std::string_view expected) { return error_at(at_, expected); }
  std::unexpected<Error> error_at(size_t at, std::string_view expected) const;
  // The same place with a message of its own.
  std::unexpected<Error> refuse(size_t at, ErrorCode code, const std::string& message) const;

  void skip_space();  // and `//` comments
  char peek();        // behind space; 0 at the end
  bool accept(std::string_view token);
  Status expect(std::string_view token);
  // A whole word: no name character follows.
  bool accept_word(std::string_view word);
  Status expect_word(std::string_view word);
  std::string_view peek_word();
  Result<std::string> name(std::string_view expected);
  Result<int64_t> integer();
  // `%v3`, `b3`, `c3` without the prefix's first part: the prefix, then a number below kMaxItems.
  Result<int32_t> numbered(std::string_view prefix);
  // A floating number: decimal, hexadecimal, inf, nan, with a sign.
  Result<double> number();
  Result<DType> dtype();
  // A size expression up to the first character of `stops` outside of parentheses; `//` divides in it.
  Result<SymInt> size(std::string_view stops);
  Result<std::vector<SymInt>> sizes();                                          // "[T, 384]"
  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }  // without skipping space

 private:
  std::string where(size_t at) const;
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace edge_infer::loop
