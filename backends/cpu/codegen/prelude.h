// The part of prelude.c that a kernel's text needs.
#pragma once

#include <string>
#include <string_view>

namespace edge_infer::cpu_codegen {

// The head of prelude.c and each of its segments that defines a name which `kernel`, or a chosen segment,
// uses; in the file's order.
std::string select_prelude(std::string_view kernel);

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

}  // namespace edge_infer::cpu_codegen
