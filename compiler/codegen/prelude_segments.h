// A prelude from which each kernel takes what it needs, so that its text stays short: a head, then segments
// that begin with a line `//@ name name...` of the names that they define.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace edge_infer::codegen {

class PreludeSegments {
 public:
  // `text` is kept by reference.
  explicit PreludeSegments(std::string_view text);
  // The head and each segment that defines a name which `kernel`, or a chosen segment, uses; in the text's
  // order.
  std::string select(std::string_view kernel) const;

 private:
  struct Segment {
    std::string_view text;
    std::vector<size_t> needs;  // segments
  };
  void choose(size_t index, std::vector<bool>& chosen) const;

  std::string_view head_;
  std::vector<Segment> segments_;
  std::map<std::string_view, size_t> by_name_;
};

// Calls `visit(identifier)` for each identifier of C text, comments and strings included.
template <typename Visit>
void for_each_identifier(std::string_view text, Visit visit) {
  const auto word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (size_t i = 0; i < text.size();) {
    if (!word(text[i])) {
      ++i;
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && word(text[i])) ++i;
    visit(text.substr(begin, i - begin));
  }
}

}  // namespace edge_infer::codegen
