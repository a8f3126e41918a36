// Markdown by md4c (CommonMark with GitHub's tables, strikethrough and task lists). The parser's callbacks
// point into the text, which gives the origins. Raw HTML blocks go through the HTML reader; inline tags are
// dropped.
#include <md4c.h>

#include <algorithm>
#include <string>

#include "apps/documents/protocol.h"
#include "apps/documents/readers/builder.h"
#include "apps/documents/readers/delimiter_rows.h"
#include "apps/documents/readers/html.h"
#include "apps/documents/readers/readers.h"

namespace edge_infer {
namespace {

class MarkdownReader {
 public:
  MarkdownReader(const DecodedText& decoded, size_t skip, const ReadLimits& limits)
      : decoded_(decoded),
        text_(decoded.text()),
        skip_(skip),
        rows_(text_.substr(skip)),
        limits_(limits),
        builder_("markdown", limits),
        block_(decoded) {}

  void set_title(std::string title) { builder_.document().title = std::move(title); }

  Result<Document> read() && {
    MD_PARSER parser{};
    parser.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS;
    parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
      return me(self).enter(type, detail);
    };
    parser.leave_block = [](MD_BLOCKTYPE type, void*, void* self) { return me(self).leave(type); };
    parser.enter_span = [](MD_SPANTYPE, void*, void*) { return 0; };
    parser.leave_span = [](MD_SPANTYPE, void*, void*) { return 0; };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* data, MD_SIZE size, void* self) {
      return me(self).text(type, {data, size});
    };
    const std::string_view body = rows_.padded();
    if (body.size() > UINT32_MAX / 2)
      return fail(ErrorCode::kResourceExhausted, "Markdown of more than 2 GB");
    const int status = md_parse(body.data(), static_cast<MD_SIZE>(body.size()), &parser, this);
    EDGE_INFER_RETURN_IF_ERROR(status_);
    if (status < 0) return fail(ErrorCode::kResourceExhausted, "parsing this Markdown ran out of memory");
    if (builder_.document().title.empty()) take_title();
    return std::move(builder_).finish();
  }

 private:
  static MarkdownReader& me(void* self) { return *static_cast<MarkdownReader*>(self); }

  int enter(MD_BLOCKTYPE type, void* detail) {
    switch (type) {
      case MD_BLOCK_H:
        flush();
        level_ = static_cast<int>(std::clamp(static_cast<MD_BLOCK_H_DETAIL*>(detail)->level, 1u, 6u));
        break;
      case MD_BLOCK_CODE:
        flush();
        code_ = true;
        block_ = BlockText(decoded_, true);
        break;
      case MD_BLOCK_HTML:
        flush();
        html_start_ = std::string_view::npos;
        break;
      case MD_BLOCK_LI:
        flush();
        ++item_;
        break;
      case MD_BLOCK_THEAD:
        header_ = true;
        break;
      case MD_BLOCK_TR:
        flush();
        row_ = true;
        cells_ = 0;
        break;
      case MD_BLOCK_TH:
      case MD_BLOCK_TD:
        if (cells_++ > 0) block_.separate(" | ");
        break;
      default:
        flush();
        break;
    }
    return stop();
  }

  int leave(MD_BLOCKTYPE type) {
    switch (type) {
      case MD_BLOCK_TH:
      case MD_BLOCK_TD:
        return 0;
      case MD_BLOCK_HTML:
        read_html_block();
        break;
      default:
        flush();
        break;
    }
    if (type == MD_BLOCK_H) level_ = 0;
    if (type == MD_BLOCK_LI) --item_;
    if (type == MD_BLOCK_THEAD) header_ = false;
    if (type == MD_BLOCK_TR) row_ = false;
    if (type == MD_BLOCK_CODE) {
      code_ = false;
      block_ = BlockText(decoded_);
    }
    return stop();
  }

  int text(MD_TEXTTYPE type, std::string_view piece) {
    const std::string_view body = rows_.padded();
    const char *begin = body.data(), *end = begin + body.size();
    const bool inside = piece.data() >= begin && piece.data() + piece.size() <= end;
    const auto source = [&](const char* place) {
      return skip_ + rows_.original(static_cast<size_t>(place - begin));
    };
    const size_t at = inside ? source(piece.data()) : last_;
    const size_t size = inside ? source(piece.data() + piece.size()) - at : piece.size();
    if (type == MD_TEXT_HTML) {
      if (!inside) return 0;
      if (html_start_ == std::string_view::npos) html_start_ = at;
      last_ = html_end_ = at + size;
      if (piece.starts_with("<br") && !block_.empty() && !block_.ends_in_space())
        block_.replace("\n", at, size);
      return 0;
    }
    switch (type) {
      case MD_TEXT_BR:
        line_end("\n");
        return 0;
      case MD_TEXT_SOFTBR:
        line_end(" ");
        return 0;
      case MD_TEXT_NULLCHAR:
        return 0;
      case MD_TEXT_ENTITY: {
        const std::string value = decode_entity(piece);
        const bool usable = valid_utf8_prefix(value) == value.size() && !value.empty() &&
                            static_cast<unsigned char>(value[0]) >= 0x20;
        if (usable) block_.replace(value == "\xc2\xa0" ? " " : value, at, size);
        break;
      }
      default:
        if (!inside) {
          line_end(piece);
          return 0;
        }
        if (code_) {
          block_.copy(at, size);
        } else {
          block_.copy_collapsed(at, size);
        }
    }
    last_ = at + size;
    return 0;
  }

  // A line end that the parser reports without its place: it follows the last text.
  void line_end(std::string_view as) {
    if (!code_ && block_.ends_in_space()) return;
    size_t width = 0;
    if (last_ < text_.size() && (text_[last_] == '\n' || text_[last_] == '\r')) width = 1;
    if (width == 1 && text_.substr(last_, 2) == "\r\n") width = 2;
    for (const char c : as) block_.replace(c == '\n' ? "\n" : " ", last_, std::exchange(width, 0));
    if (text_.substr(last_, 2) == "\r\n") ++last_;
    if (last_ < text_.size()) ++last_;
  }

  void flush() {
    const Block::Kind kind = level_ > 0  ? Block::Kind::kHeading
                             : code_     ? Block::Kind::kCode
                             : row_      ? Block::Kind::kTableRow
                             : item_ > 0 ? Block::Kind::kListItem
                                         : Block::Kind::kParagraph;
    Block block = block_.finish(kind, level_);
    block.header = row_ && header_;
    builder_.add(std::move(block));
  }

  void read_html_block() {
    if (html_start_ == std::string_view::npos || html_end_ <= html_start_) return;
    const Status status =
        read_html_into(decoded_, html_start_, html_end_ - html_start_, false, limits_, builder_);
    if (!status && status_) status_ = status;
  }

  int stop() const { return builder_.full() || !status_ ? 1 : 0; }

  // The first heading, where nothing else states a title and it is the document's beginning.
  void take_title() {
    const auto& blocks = builder_.document().blocks;
    if (!blocks.empty() && blocks[0].kind == Block::Kind::kHeading && blocks[0].level == 1)
      builder_.document().title = blocks[0].text;
  }

  const DecodedText& decoded_;
  std::string_view text_;
  size_t skip_;
  DelimiterRows rows_;
  ReadLimits limits_;
  DocumentBuilder builder_;
  BlockText block_;
  Status status_;
  int level_ = 0, item_ = 0, cells_ = 0;
  bool code_ = false, row_ = false, header_ = false;
  size_t last_ = 0, html_start_ = std::string_view::npos, html_end_ = 0;
};

struct FrontMatter {
  size_t size = 0;
  std::string title;
};

// YAML between "---" lines or TOML between "+++" lines at the very beginning: metadata, not text.
FrontMatter front_matter(std::string_view text) {
  const std::string_view fence = text.substr(0, 3);
  if (fence != "---" && fence != "+++") return {};
  const size_t first = text.find('\n');
  if (first == std::string_view::npos ||
      text.substr(3, first - 3).find_first_not_of(" \r\t") != std::string_view::npos)
    return {};
  FrontMatter found;
  for (size_t at = first + 1; at < text.size() && at < 65536;) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    at = std::min(end + 1, text.size());
    if (line == fence || (fence == "---" && line == "...")) {
      found.size = at;
      return found;
    }
    if (line.starts_with("title:") || line.starts_with("title =")) {
      std::string_view value = line.substr(line.find_first_of(":=") + 1);
      const auto is_edge = [](char c) { return c == ' ' || c == '"' || c == '\''; };
      while (!value.empty() && is_edge(value.front())) value.remove_prefix(1);
      while (!value.empty() && is_edge(value.back())) value.remove_suffix(1);
      found.title = value;
    }
  }
  return {};
}

}  // namespace

Result<Document> read_markdown(const DecodedText& text, const ReadLimits& limits) {
  FrontMatter front = front_matter(text.text());
  MarkdownReader reader(text, front.size, limits);
  reader.set_title(std::move(front.title));
  return std::move(reader).read();
}

}  // namespace edge_infer
