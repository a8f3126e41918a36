// Markdown's tables may be ruled with one or two dashes a column; md4c 0.4 wants three. The rows are parsed
// with more dashes than they have, and what the parser says of its text is led back to the file's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace edge_infer {

class DelimiterRows {
 public:
  // `text` outlives the object.
  explicit DelimiterRows(std::string_view text);

  // What to parse: `text`, with short delimiter rows below a line with a "|" filled up.
  std::string_view padded() const { return insertions_.empty() ? text_ : padded_; }
  // The offset in `text` of an offset in padded(); between added dashes, that where they were added.
  size_t original(size_t offset) const;

 private:
  struct Insertion {
    size_t at = 0, count = 0;  // offset in padded(); dashes added there
    size_t before = 0;         // and added in front of it
  };
  void add_line(std::string_view line, bool below_cells);

  std::string_view text_;
  std::string padded_;
  std::vector<Insertion> insertions_;
  size_t added_ = 0;
};

}  // namespace edge_infer
