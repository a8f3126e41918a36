#include "apps/documents/readers/pdf_lines.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

namespace edge_infer {
namespace {

// Letters and digits only, lower-case (ASCII): what two printings of one title have in common.
std::string letters_of(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || byte >= 0x80) out.push_back(static_cast<char>(std::tolower(byte)));
  }
  return out;
}

// The title without a number in front: "3.2 Pipes" -> "Pipes".
std::string_view without_number(std::string_view text) {
  size_t i = 0;
  while (i < text.size() && (std::isdigit(static_cast<unsigned char>(text[i])) || text[i] == '.')) ++i;
  while (i > 0 && i < text.size() && text[i] == ' ') ++i;
  return text.substr(i);
}

// The height that most characters have, to half a point.
double body_height(const std::vector<PdfLine>& lines) {
  std::map<int, size_t> count;
  for (const PdfLine& line : lines) count[static_cast<int>(std::lround(line.height * 2))] += line.text.size();
  const auto most = std::max_element(count.begin(), count.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == count.end() ? 0 : most->first / 2.0;
}

bool mark_by_outline(std::vector<PdfLine>& lines, const std::vector<PdfBookmark>& bookmarks) {
  std::unordered_map<std::string, std::vector<std::pair<int, int>>> titles;  // letters -> page, level
  for (const PdfBookmark& mark : bookmarks) {
    std::string key = letters_of(without_number(mark.title));
    if (key.empty()) key = letters_of(mark.title);
    if (!key.empty() && mark.page > 0) titles[key].emplace_back(mark.page, std::min(mark.level, 6));
  }
  size_t found = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].text.size() > 200) continue;
    // A title may take two lines.
    for (const bool two : {false, true}) {
      if (two && (i + 1 == lines.size() || lines[i + 1].page != lines[i].page)) break;
      const std::string text = two ? lines[i].text + " " + lines[i + 1].text : lines[i].text;
      std::string key = letters_of(without_number(text));
      if (key.empty()) key = letters_of(text);
      const auto entry = titles.find(key);
      if (entry == titles.end()) continue;
      const auto place = std::find_if(entry->second.begin(), entry->second.end(),
                                      [&](const auto& at) { return at.first == lines[i].page; });
      if (place == entry->second.end()) continue;
      lines[i].heading = place->second;
      if (two) lines[i + 1].heading = place->second;
      entry->second.erase(place);
      ++found;
      break;
    }
  }
  return found > 0 && found * 4 >= bookmarks.size();
}

bool has_letters(std::string_view text) {
  // A character past ASCII counts once, by its first byte; below U+00C0 are signs.
  return std::count_if(text.begin(), text.end(), [](char c) {
           return std::isalpha(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0xc3;
         }) >= 2;
}

void mark_by_size(std::vector<PdfLine>& lines) {
  const double body = body_height(lines);
  std::map<int, size_t, std::greater<>> sizes;  // in half points, largest first
  const auto is_large = [&](const PdfLine& line) {
    return line.height > body * 1.15 && line.text.size() < 150 && has_letters(line.text);
  };
  size_t large = 0;
  for (const PdfLine& line : lines)
    if (is_large(line)) ++sizes[static_cast<int>(std::lround(line.height * 2))], ++large;
  // Where much of the text is large, size says nothing.
  if (large * 4 > lines.size() + 8) return;
  for (PdfLine& line : lines) {
    if (!is_large(line)) continue;
    const auto rank =
        std::distance(sizes.begin(), sizes.find(static_cast<int>(std::lround(line.height * 2))));
    line.heading = static_cast<int>(std::min<std::ptrdiff_t>(rank + 1, 4));
  }
}

// Manual pages in print: section names in capitals at the margin, with their text indented.
void mark_manual_sections(std::vector<PdfLine>& lines) {
  const auto is_section = [&](size_t i) {
    const std::string& text = lines[i].text;
    return i + 1 < lines.size() && lines[i].page == lines[i + 1].page && text.size() >= 3 &&
           text.size() < 50 && lines[i + 1].left > lines[i].left + lines[i].height &&
           std::isupper(static_cast<unsigned char>(text[0])) &&
           std::none_of(text.begin(), text.end(),
                        [](char c) { return std::islower(static_cast<unsigned char>(c)); }) &&
           std::count_if(text.begin(), text.end(),
                         [](char c) { return std::isupper(static_cast<unsigned char>(c)); }) *
                   3 >=
               static_cast<std::ptrdiff_t>(text.size()) * 2;
  };
  std::vector<size_t> sections;
  std::map<int, size_t> margins;
  for (size_t i = 0; i < lines.size(); ++i)
    if (is_section(i)) {
      sections.push_back(i);
      ++margins[static_cast<int>(std::lround(lines[i].left))];
    }
  for (const size_t i : sections)
    if (margins[static_cast<int>(std::lround(lines[i].left))] >= 3 && lines[i].heading == 0)
      lines[i].heading = 1;
}

// The number of bytes of a bullet or a number that opens a list item; 0 where there is none.
size_t list_mark(std::string_view text) {
  for (const std::string_view bullet :
       {"\xe2\x80\xa2 ", "\xe2\x80\x93 ", "\xe2\x97\xa6 ", "\xe2\x96\xaa ", "\xc2\xb7 ", "- ", "* "})
    if (text.starts_with(bullet)) return bullet.size();
  size_t digits = 0;
  while (digits < text.size() && digits < 3 && std::isdigit(static_cast<unsigned char>(text[digits])))
    ++digits;
  if (digits > 0 && digits + 1 < text.size() && (text[digits] == '.' || text[digits] == ')') &&
      text[digits + 1] == ' ')
    return digits + 2;
  return 0;
}

// The distance of lines within paragraphs: the most common step down, relative to the font's height.
double usual_leading(const std::vector<PdfLine>& lines) {
  std::map<int, size_t> count;
  for (size_t i = 1; i < lines.size(); ++i) {
    const double step = lines[i - 1].baseline - lines[i].baseline;
    if (lines[i].page != lines[i - 1].page || step <= 0 || lines[i].height <= 0) continue;
    const double relative = step / lines[i].height;
    if (relative > 0.6 && relative < 3) ++count[static_cast<int>(std::lround(relative * 20))];
  }
  const auto most = std::max_element(count.begin(), count.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == count.end() ? 1.2 : most->first / 20.0;
}

class BlockJoiner {
 public:
  BlockJoiner(const std::vector<PdfLine>& lines, DocumentBuilder& builder)
      : lines_(lines), builder_(builder), leading_(usual_leading(lines)) {
    for (const PdfLine& line : lines) {
      double& margin = margins_[line.page];
      margin = std::max(margin, line.right);
    }
  }

  void run() {
    for (size_t i = 0; i < lines_.size() && !builder_.full(); ++i) {
      if (i > 0 && starts_block(lines_[i - 1], lines_[i])) flush();
      append(lines_[i]);
    }
    flush();
  }

 private:
  bool starts_block(const PdfLine& before, const PdfLine& line) const {
    if (line.page != before.page || line.heading != before.heading || line.fixed != before.fixed) return true;
    const double step = before.baseline - line.baseline, height = std::max(line.height, 1.0);
    if (step < -0.5 * height) return true;  // up: the next column
    if (std::abs(line.height - before.height) > 0.12 * height && step > 0.3 * height) return true;
    if (step > (leading_ * 1.3 + 0.1) * height) return true;
    if (line.fixed || line.heading > 0) return false;
    if (list_mark(line.text) > 0 && step > 0.3 * height) return true;
    if (step <= 0.3 * height) return false;
    // A paragraph's first line is indented, or hangs out, against the lines before it; a last line is short.
    const double margin = right_margin(line.page);
    const bool over = ends_sentence(before.text) || before.right < margin - 0.12 * (margin - left_);
    const bool indented =
        count_ > 1 && line.left > left_ + 0.8 * height && before.left < left_ + 0.8 * height;
    const bool outdented = line.left < before.left - 0.8 * height;
    return over && (indented || outdented);
  }

  static bool ends_sentence(std::string_view text) {
    while (!text.empty() && (text.back() == '"' || text.back() == ')' || text.back() == '\''))
      text.remove_suffix(1);
    return !text.empty() && std::string_view(".!?:;").find(text.back()) != std::string_view::npos;
  }

  double right_margin(int page) const {
    const auto found = margins_.find(page);
    return found == margins_.end() ? 0 : found->second;
  }

  void append(const PdfLine& line) {
    if (count_++ == 0) {
      first_ = &line;
      left_ = line.left;
    }
    left_ = std::min(left_, line.left);
    if (!text_.empty()) {
      if (hyphen_ && !line.text.empty() && !std::isupper(static_cast<unsigned char>(line.text[0]))) {
        if (text_.back() == '-') text_.pop_back();
      } else {
        text_.push_back(line.fixed ? '\n' : ' ');
      }
    }
    text_ += line.text;
    hyphen_ = line.hyphen;
  }

  void flush() {
    if (count_ == 0) return;
    Block::Kind kind = Block::Kind::kParagraph;
    if (first_->heading > 0) {
      kind = Block::Kind::kHeading;
    } else if (first_->fixed) {
      kind = Block::Kind::kCode;
    } else if (list_mark(first_->text) > 0) {
      kind = Block::Kind::kListItem;
    }
    Block block = make_block(text_, kind, first_->heading);
    block.page = first_->page;
    builder_.add(std::move(block));
    text_.clear();
    count_ = 0;
    hyphen_ = false;
  }

  const std::vector<PdfLine>& lines_;
  DocumentBuilder& builder_;
  double leading_;
  const PdfLine* first_ = nullptr;
  std::string text_;
  size_t count_ = 0;
  double left_ = 0;
  bool hyphen_ = false;
  std::unordered_map<int, double> margins_;  // right end of the text, by page
};

// The line with its numbers (also roman ones that stand alone) taken out.
std::string running_key(const std::string& text) {
  std::string key;
  for (const char c : text)
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != ' ') key.push_back(c);
  if (key.find_first_not_of("ivxlc.-") == std::string::npos) key.clear();
  return key;
}

}  // namespace

void mark_headings(std::vector<PdfLine>& lines, const std::vector<PdfBookmark>& bookmarks) {
  if (mark_by_outline(lines, bookmarks)) return;
  for (PdfLine& line : lines) line.heading = 0;
  mark_by_size(lines);
  mark_manual_sections(lines);
}

void drop_running_lines(std::vector<PdfLine>& lines, int pages) {
  if (pages < 3) return;
  // The outermost line above and below of each page.
  std::vector<size_t> edges;
  for (size_t from = 0; from < lines.size();) {
    size_t to = from, top = from, bottom = from;
    for (; to < lines.size() && lines[to].page == lines[from].page; ++to) {
      if (lines[to].baseline > lines[top].baseline) top = to;
      if (lines[to].baseline < lines[bottom].baseline) bottom = to;
    }
    if (to - from > 2) {
      // All pieces of the head's or foot's own line: a number may be set apart from the title.
      for (size_t i = from; i < to; ++i)
        if (std::abs(lines[i].baseline - lines[top].baseline) < 2 ||
            std::abs(lines[i].baseline - lines[bottom].baseline) < 2)
          edges.push_back(i);
    }
    from = to;
  }
  std::map<std::string, size_t> count;
  for (const size_t i : edges) ++count[running_key(lines[i].text)];
  const auto often = [&](const std::string& key, const std::string& text) {
    if (key.empty()) return text.size() < 12;  // a page number alone
    return key.size() < 120 && count[key] >= std::max<size_t>(3, static_cast<size_t>(pages) / 12);
  };
  std::vector<bool> drop(lines.size(), false);
  for (const size_t i : edges) drop[i] = often(running_key(lines[i].text), lines[i].text);
  size_t kept = 0;
  for (size_t i = 0; i < lines.size(); ++i)
    if (!drop[i]) {
      if (kept != i) lines[kept] = std::move(lines[i]);
      ++kept;
    }
  lines.resize(kept);
}

void add_pdf_blocks(const std::vector<PdfLine>& lines, DocumentBuilder& builder) {
  BlockJoiner(lines, builder).run();
}

}  // namespace edge_infer
