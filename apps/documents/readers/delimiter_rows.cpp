#include "apps/documents/readers/delimiter_rows.h"

#include <algorithm>

namespace edge_infer {
namespace {

constexpr size_t kDashes = 3;  // what md4c wants of a cell, colons included

bool is_mark(char c) {
  return c == '-' || c == ':';
}

// Whether a line says nothing but how columns are aligned: cells of dashes, with a colon at either end.
bool is_delimiter_row(std::string_view line) {
  if (line.find('|') == std::string_view::npos || line.find('-') == std::string_view::npos) return false;
  const size_t first = line.find_first_not_of(" \t>");  // a quotation may hold a table
  if (line.substr(first).find_first_not_of("|-: \t\r") != std::string_view::npos) return false;
  for (size_t i = first; i < line.size(); ++i) {
    if (line[i] != ':') continue;
    const bool opens = i + 1 < line.size() && line[i + 1] == '-' && (i == first || line[i - 1] != '-');
    const bool closes = i > first && line[i - 1] == '-' && (i + 1 == line.size() || !is_mark(line[i + 1]));
    if (!opens && !closes) return false;
  }
  return true;
}

}  // namespace

DelimiterRows::DelimiterRows(std::string_view text) : text_(text) {
  bool below_cells = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = text.substr(at, end - at);
    add_line(line, below_cells);
    below_cells = line.find('|') != std::string_view::npos;
    at = end;
  }
  if (insertions_.empty()) std::string().swap(padded_);
}

void DelimiterRows::add_line(std::string_view line, bool below_cells) {
  const std::string_view ending = line.ends_with('\n') ? line.substr(line.size() - 1) : std::string_view();
  line.remove_suffix(ending.size());
  if (!below_cells || !is_delimiter_row(line)) {
    padded_.append(line).append(ending);
    return;
  }
  for (size_t i = 0; i < line.size();) {
    size_t end = i;
    while (end < line.size() && is_mark(line[end])) ++end;
    if (end == i) {
      padded_ += line[i++];
      continue;
    }
    const std::string_view cell = line.substr(i, end - i);
    const size_t dash = cell.find('-');
    if (cell.size() < kDashes && dash != std::string_view::npos) {
      const size_t missing = kDashes - cell.size();
      padded_.append(cell.substr(0, dash));
      insertions_.push_back({padded_.size(), missing, added_});
      padded_.append(missing, '-').append(cell.substr(dash));
      added_ += missing;
    } else {
      padded_.append(cell);
    }
    i = end;
  }
  padded_.append(ending);
}

size_t DelimiterRows::original(size_t offset) const {
  const auto next = std::upper_bound(insertions_.begin(), insertions_.end(), offset,
                                     [](size_t o, const Insertion& insertion) { return o < insertion.at; });
  if (next == insertions_.begin()) return offset;
  const Insertion& last = *(next - 1);
  return offset - last.before - std::min(last.count, offset - last.at);
}

}  // namespace edge_infer
