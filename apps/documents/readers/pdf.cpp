// PDF with a text layer, by PDFium: characters in content order, which is the reading order of nearly all
// producers.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apps/documents/readers/pdf_lines.h"
#include "apps/documents/readers/readers.h"

namespace edge_infer {
namespace {

constexpr int kMaxPages = 100'000;
constexpr int kMaxBadPages = 1000;  // in a row: a page tree that promises pages it does not have
constexpr size_t kMaxBookmarks = 20'000;
constexpr int kMaxBookmarkDepth = 16;

void put_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xc0 | (c >> 6)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | (c >> 12)));
    out.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else if (c < 0x110000) {
    out.push_back(static_cast<char>(0xf0 | (c >> 18)));
    out.push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  }
}

// A little-endian UTF-16 string, with its zero, as PDFium returns titles.
std::string from_utf16(const std::vector<unsigned char>& bytes) {
  std::string out;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    uint32_t c = bytes[i] | (static_cast<uint32_t>(bytes[i + 1]) << 8);
    if (c == 0) break;
    if (c >= 0xd800 && c < 0xdc00 && i + 3 < bytes.size()) {
      const uint32_t low = bytes[i + 2] | (static_cast<uint32_t>(bytes[i + 3]) << 8);
      if (low >= 0xdc00 && low < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        i += 2;
      }
    }
    if (c >= 0xd800 && c < 0xe000) continue;
    put_utf8(out, c);
  }
  return clean_text(out);
}

// Ligatures and signs of fonts as the characters that people search for.
void put_character(std::string& out, uint32_t c) {
  static constexpr const char* kLigatures[] = {"ff", "fi", "fl", "ffi", "ffl", "st", "st"};
  if (c >= 0xfb00 && c <= 0xfb06) {
    out += kLigatures[c - 0xfb00];
  } else if (c == 0xa0 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f) {
    out.push_back(' ');
  } else if (c == 0x2212) {
    out.push_back('-');  // how typesetters print the dash of options: as a minus sign
  } else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0xd800 && c < 0xf900) || (c & 0xfffe) == 0xfffe ||
             c == 0xfeff || c == 0x200b) {
    // Controls, surrogates, private use, non-characters: no text.
  } else {
    put_utf8(out, c);
  }
}

class PageReader {
 public:
  PageReader(const Pdfium& pdfium, int64_t text_limit) : pdfium_(pdfium), left_(text_limit) {}

  // False: the text limit is reached.
  bool read(PdfTextHandle* text, int page, std::vector<PdfLine>& lines) {
    const int count = pdfium_.text_count_chars(text);
    line_ = {};
    for (int i = 0; i < count; ++i) {
      const uint32_t c = pdfium_.text_unicode(text, i);
      if (c == '\r' || c == '\n') {
        end_line(page, lines);
      } else if (c == 2 || c == 0xad) {
        // PDFium's mark for a hyphen that it took out at a line's end, and the soft hyphen.
        const size_t before = lines.size();
        line_.hyphen = true;
        end_line(page, lines);
        if (lines.size() == before) line_ = {};
      } else {
        add(text, i, c);
      }
      if (left_ < 0) return false;
    }
    end_line(page, lines);
    return left_ >= 0;
  }

 private:
  void add(PdfTextHandle* text, int i, uint32_t c) {
    const size_t before = line_.text.size();
    put_character(line_.text, c);
    left_ -= static_cast<int64_t>(line_.text.size() - before);
    if (line_.text.size() == before || line_.text.back() == ' ' || pdfium_.text_is_generated(text, i) == 1)
      return;
    PdfRect box{};
    double x = 0, y = 0;
    if (pdfium_.text_loose_char_box(text, i, &box) == 0 || pdfium_.text_char_origin(text, i, &x, &y) == 0)
      return;
    // Typesetters that place words without a space character leave narrower gaps than PDFium takes for one.
    const double gap = box.left - previous_right_;
    if (!heights_.empty() && before > 0 && line_.text[before - 1] != ' ' &&
        gap > 0.15 * (box.top - box.bottom))
      line_.text.insert(before, 1, ' ');
    previous_right_ = box.right;
    if (heights_.empty()) {
      line_.left = box.left;
      line_.right = box.right;
      line_.baseline = y;
      line_.fixed = is_fixed(text, i);
    }
    line_.left = std::min<double>(line_.left, box.left);
    line_.right = std::max<double>(line_.right, box.right);
    if (const float height = box.top - box.bottom; std::isfinite(height)) heights_.push_back(height);
  }

  bool is_fixed(PdfTextHandle* text, int i) const {
    char name[128] = {};
    int flags = 0;
    const unsigned long size = pdfium_.text_font_info(text, i, name, sizeof name - 1, &flags);
    if (size == 0 || size > sizeof name) return false;
    const std::string_view font = name;
    for (const std::string_view part :
         {"Courier", "Mono", "CMTT", "cmtt", "Typewriter", "SFTT", "Consolas", "Inconsolata"})
      if (font.find(part) != std::string_view::npos) return true;
    return (flags & 1) != 0 && font.find("CM") == std::string_view::npos;
  }

  void end_line(int page, std::vector<PdfLine>& lines) {
    std::string& text = line_.text;
    while (!text.empty() && text.back() == ' ') text.pop_back();
    text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
    if (!text.empty()) {
      if (text.size() > 1 && text.back() == '-' && static_cast<unsigned char>(text[text.size() - 2]) >= 'a')
        line_.hyphen = true;
      line_.page = page;
      if (!heights_.empty()) {
        const auto middle = heights_.begin() + static_cast<std::ptrdiff_t>(heights_.size() / 2);
        std::nth_element(heights_.begin(), middle, heights_.end());
        line_.height = *middle;
      }
      lines.push_back(std::move(line_));
    }
    line_ = {};
    heights_.clear();
  }

  const Pdfium& pdfium_;
  int64_t left_;
  PdfLine line_;
  double previous_right_ = 0;
  std::vector<float> heights_;
};

std::vector<PdfBookmark> read_outline(const Pdfium& pdfium, PdfDocumentHandle* document) {
  std::vector<PdfBookmark> marks;
  std::set<PdfBookmarkHandle*> seen;  // outlines may have loops
  struct Entry {
    PdfBookmarkHandle* mark;
    int level;
  };
  std::vector<Entry> open;
  if (auto* first = pdfium.bookmark_first_child(document, nullptr)) open.push_back({first, 1});
  while (!open.empty() && marks.size() < kMaxBookmarks) {
    const Entry entry = open.back();
    open.pop_back();
    if (!seen.insert(entry.mark).second) continue;
    PdfBookmark mark;
    mark.level = entry.level;
    std::vector<unsigned char> buffer(2048);
    const unsigned long size = pdfium.bookmark_title(entry.mark, buffer.data(), buffer.size());
    if (size <= buffer.size()) mark.title = from_utf16(buffer);
    if (auto* dest = pdfium.bookmark_dest(document, entry.mark))
      mark.page = pdfium.dest_page_index(document, dest) + 1;
    if (!mark.title.empty()) marks.push_back(std::move(mark));
    if (auto* next = pdfium.bookmark_next_sibling(document, entry.mark)) open.push_back({next, entry.level});
    if (entry.level < kMaxBookmarkDepth)
      if (auto* child = pdfium.bookmark_first_child(document, entry.mark))
        open.push_back({child, entry.level + 1});
  }
  return marks;
}

std::string read_title(const Pdfium& pdfium, PdfDocumentHandle* document) {
  std::vector<unsigned char> buffer(2048);
  const unsigned long size = pdfium.meta_text(document, "Title", buffer.data(), buffer.size());
  if (size < 4 || size > buffer.size()) return {};
  std::string title = from_utf16(buffer);
  // Producers put file names there; such a title says nothing.
  if (title.size() > 4 && title[title.size() - 4] == '.') return {};
  return title.starts_with("Microsoft Word") || title == "untitled" ? std::string() : title;
}

std::unexpected<Error> open_error(unsigned long code) {
  switch (code) {
    case 4:
      return fail(ErrorCode::kInvalidArgument, "encrypted pdf: a password is needed");
    case 5:
      return fail(ErrorCode::kUnsupported, "encrypted pdf: its security scheme is not supported");
    default:
      return fail(ErrorCode::kCorruption, "broken pdf: no readable pages (PDFium error {})", code);
  }
}

}  // namespace

Result<Document> read_pdf(std::string_view source, const Pdfium& pdfium, const ReadLimits& limits) {
  const auto close = [&](PdfDocumentHandle* d) { pdfium.close_document(d); };
  const std::unique_ptr<PdfDocumentHandle, decltype(close)> document(
      pdfium.load_mem_document(source.data(), source.size(), nullptr), close);
  if (document == nullptr) return open_error(pdfium.last_error());
  const int pages = std::min(pdfium.page_count(document.get()), kMaxPages);
  if (pages <= 0) return fail(ErrorCode::kCorruption, "broken pdf: it has no pages");

  std::vector<PdfLine> lines;
  PageReader reader(pdfium, limits.text_bytes);
  int unreadable = 0, in_a_row = 0;
  for (int i = 0; i < pages && in_a_row < kMaxBadPages; ++i) {
    PdfPageHandle* page = pdfium.load_page(document.get(), i);
    PdfTextHandle* text = page != nullptr ? pdfium.text_load_page(page) : nullptr;
    bool within = true;
    if (text != nullptr) {
      within = reader.read(text, i + 1, lines);
      pdfium.text_close_page(text);
      in_a_row = 0;
    } else {
      ++unreadable;
      ++in_a_row;
    }
    if (page != nullptr) pdfium.close_page(page);
    if (!within) return fail(ErrorCode::kResourceExhausted, "more than {} bytes of text", limits.text_bytes);
  }
  if (lines.empty()) {
    if (unreadable > 0)
      return fail(ErrorCode::kCorruption, "broken pdf: {} of {} pages cannot be read", unreadable, pages);
    return fail(ErrorCode::kUnsupported, "no text layer in this pdf (scanned pages?)");
  }
  DocumentBuilder builder("pdf", limits);
  builder.document().title = read_title(pdfium, document.get());
  if (unreadable > 0)
    builder.document().note = fmt::format("{} of {} pages cannot be read", unreadable, pages);
  drop_running_lines(lines, pages);
  mark_headings(lines, read_outline(pdfium, document.get()));
  add_pdf_blocks(lines, builder);
  return std::move(builder).finish();
}

}  // namespace edge_infer
