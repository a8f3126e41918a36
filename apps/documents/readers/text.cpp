// Plain text, manual pages and GNU Info files: paragraphs by blank lines, lines kept as they are.
#include <algorithm>
#include <cctype>
#include <string>

#include "apps/documents/readers/builder.h"
#include "apps/documents/readers/readers.h"

namespace edge_infer {
namespace {

struct Line {
  size_t at = 0, size = 0;  // without its line end
  size_t next = 0;          // where the next line starts
};

Line line_at(std::string_view text, size_t at) {
  size_t end = text.find_first_of("\n\r", at);
  if (end == std::string_view::npos) return {at, text.size() - at, text.size()};
  const size_t width = text[end] == '\r' && end + 1 < text.size() && text[end + 1] == '\n' ? 2 : 1;
  return {at, end - at, end + width};
}

size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

std::string_view trimmed(std::string_view line) {
  const size_t from = line.find_first_not_of(" \t\f");
  if (from == std::string_view::npos) return {};
  return line.substr(from, line.find_last_not_of(" \t\f") + 1 - from);
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// "=====" below a title of the same length: the character, or 0.
char underline_of(std::string_view title, std::string_view below) {
  below = trimmed(below);
  title = trimmed(title);
  if (below.size() < 3 || title.empty() || title.size() > 200) return 0;
  const char c = below[0];
  if (std::string_view("=-*~^.#+").find(c) == std::string_view::npos) return 0;
  if (below.find_first_not_of(c) != std::string_view::npos) return 0;
  const auto difference = static_cast<int64_t>(characters(title)) - static_cast<int64_t>(below.size());
  if (difference < -2 || difference > 2) return 0;
  const bool has_letter = std::any_of(title.begin(), title.end(), [](char t) {
    return std::isalnum(static_cast<unsigned char>(t)) || static_cast<unsigned char>(t) >= 0x80;
  });
  return has_letter ? c : 0;
}

// "EXIT STATUS" at the margin, above an indented text: how manual pages print their sections.
bool is_manual_heading(std::string_view line, std::string_view below) {
  if (line.size() < 3 || line.size() > 60 || line[0] == ' ' || indent_of(below) < 3 || trimmed(below).empty())
    return false;
  return std::isupper(static_cast<unsigned char>(line[0])) &&
         std::all_of(line.begin(), line.end(), [](char c) {
           return std::isupper(static_cast<unsigned char>(c)) ||
                  std::isdigit(static_cast<unsigned char>(c)) || c == ' ' || c == '-' || c == '/' ||
                  c == '&' || c == '\'' || c == ',';
         });
}

class TextReader {
 public:
  TextReader(const DecodedText& decoded, const ReadLimits& limits)
      : decoded_(decoded), text_(decoded.text()), builder_("text", limits) {}

  Result<Document> read() && {
    for (size_t at = 0; at < text_.size() && !builder_.full();) {
      const Line line = line_at(text_, at);
      const std::string_view words = view(line);
      if (!words.empty() && words[0] == '\x1f') {
        flush();
        at = skip_info_header(line.next);
        continue;
      }
      if (trimmed(words).empty()) {
        flush();
      } else if (const size_t next = heading(line); next != 0) {
        at = next;
        continue;
      } else {
        if (!open_) start_ = line.at;
        open_ = true;
        end_ = line.at + line.size;
      }
      at = line.next;
    }
    flush();
    return std::move(builder_).finish();
  }

 private:
  std::string_view view(const Line& line) const { return text_.substr(line.at, line.size); }

  void flush() {
    if (!open_) return;
    BlockText block(decoded_, true);
    block.copy(start_, end_ - start_);
    builder_.add(block.finish(Block::Kind::kParagraph));
    open_ = false;
  }

  // When a heading starts at `line` (the first of its paragraph): adds it and returns where to go on, else 0.
  size_t heading(const Line& line) {
    if (open_ || line.next >= text_.size()) return 0;
    const Line below = line_at(text_, line.next);
    int level = 0;
    size_t next = 0;
    if (const char c = underline_of(view(line), view(below)); c != 0) {
      // As in reStructuredText, the order of first use tells the level.
      size_t found = underlines_.find(c);
      if (found == std::string::npos) {
        found = underlines_.size();
        underlines_.push_back(c);
      }
      level = static_cast<int>(std::min<size_t>(found + 1, 6));
      next = below.next;
    } else if (is_manual_heading(view(line), view(below))) {
      level = 1;
      next = line.next;
    }
    if (level == 0) return 0;
    BlockText block(decoded_);
    block.copy(line.at, line.size);
    builder_.add(block.finish(Block::Kind::kHeading, level));
    return next;
  }

  // After the separator of an Info file: skips "File: x.info,  Node: ..." and the tables at the file's end.
  size_t skip_info_header(size_t at) {
    if (at >= text_.size()) return at;
    const Line line = line_at(text_, at);
    const std::string_view words = view(line);
    if (words.starts_with("File: ")) return line.next;
    if (words.starts_with("Tag Table") || words.starts_with("Indirect") ||
        words.starts_with("End Tag Table") || words.starts_with("Local Variables")) {
      const size_t separator = text_.find('\x1f', line.next);
      return separator == std::string_view::npos ? text_.size() : separator;
    }
    return at;
  }

  const DecodedText& decoded_;
  std::string_view text_;
  DocumentBuilder builder_;
  std::string underlines_;
  bool open_ = false;
  size_t start_ = 0, end_ = 0;
};

}  // namespace

Result<Document> read_text(const DecodedText& text, const ReadLimits& limits) {
  return TextReader(text, limits).read();
}

}  // namespace edge_infer
