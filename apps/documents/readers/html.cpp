#include "apps/documents/readers/html.h"

#include <gumbo.h>

#include <array>
#include <cctype>
#include <cstring>
#include <memory>
#include <vector>

#include "apps/documents/protocol.h"
#include "apps/documents/readers/html_guard.h"
#include "apps/documents/readers/html_tree.h"
#include "apps/documents/readers/readers.h"

namespace edge_infer {
namespace {

enum class Role { kInline, kSkip, kBlock, kHeading, kPre, kRow, kCell, kHeaderCell, kItem, kBreak };

Role role_of(GumboTag tag) {
  switch (tag) {
    case GUMBO_TAG_SCRIPT:
    case GUMBO_TAG_STYLE:
    case GUMBO_TAG_TEMPLATE:
    case GUMBO_TAG_NOSCRIPT:
    case GUMBO_TAG_HEAD:
    case GUMBO_TAG_IFRAME:
    case GUMBO_TAG_OBJECT:
    case GUMBO_TAG_SVG:
    case GUMBO_TAG_NOFRAMES:
    case GUMBO_TAG_NOEMBED:
      return Role::kSkip;
    case GUMBO_TAG_H1:
    case GUMBO_TAG_H2:
    case GUMBO_TAG_H3:
    case GUMBO_TAG_H4:
    case GUMBO_TAG_H5:
    case GUMBO_TAG_H6:
      return Role::kHeading;
    case GUMBO_TAG_PRE:
    case GUMBO_TAG_LISTING:
    case GUMBO_TAG_XMP:
    case GUMBO_TAG_PLAINTEXT:
    case GUMBO_TAG_TEXTAREA:
      return Role::kPre;
    case GUMBO_TAG_TR:
      return Role::kRow;
    case GUMBO_TAG_TD:
      return Role::kCell;
    case GUMBO_TAG_TH:
      return Role::kHeaderCell;
    case GUMBO_TAG_LI:
    case GUMBO_TAG_DT:
    case GUMBO_TAG_DD:
      return Role::kItem;
    case GUMBO_TAG_BR:
      return Role::kBreak;
    case GUMBO_TAG_HTML:
    case GUMBO_TAG_BODY:
    case GUMBO_TAG_P:
    case GUMBO_TAG_DIV:
    case GUMBO_TAG_SECTION:
    case GUMBO_TAG_ARTICLE:
    case GUMBO_TAG_ASIDE:
    case GUMBO_TAG_HEADER:
    case GUMBO_TAG_FOOTER:
    case GUMBO_TAG_NAV:
    case GUMBO_TAG_MAIN:
    case GUMBO_TAG_UL:
    case GUMBO_TAG_OL:
    case GUMBO_TAG_DL:
    case GUMBO_TAG_BLOCKQUOTE:
    case GUMBO_TAG_TABLE:
    case GUMBO_TAG_THEAD:
    case GUMBO_TAG_TBODY:
    case GUMBO_TAG_TFOOT:
    case GUMBO_TAG_CAPTION:
    case GUMBO_TAG_FIGURE:
    case GUMBO_TAG_FIGCAPTION:
    case GUMBO_TAG_FORM:
    case GUMBO_TAG_FIELDSET:
    case GUMBO_TAG_LEGEND:
    case GUMBO_TAG_ADDRESS:
    case GUMBO_TAG_HR:
    case GUMBO_TAG_DETAILS:
    case GUMBO_TAG_SUMMARY:
    case GUMBO_TAG_CENTER:
    case GUMBO_TAG_OPTION:
    case GUMBO_TAG_SELECT:
    case GUMBO_TAG_DIR:
    case GUMBO_TAG_MENU:
      return Role::kBlock;
    default:
      return Role::kInline;
  }
}

bool contains(const char* text, std::string_view part) {
  std::string low;
  for (const char* c = text; *c != 0 && low.size() < 4096; ++c)
    if (*c != ' ') low.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(*c))));
  return low.find(part) != std::string::npos;
}

// Elements that browsers do not show, and the paragraph signs that documentation generators put beside
// headings.
bool is_hidden(const GumboElement& element) {
  if (gumbo_get_attribute(&element.attributes, "hidden") != nullptr) return true;
  const GumboAttribute* style = gumbo_get_attribute(&element.attributes, "style");
  if (style != nullptr &&
      (contains(style->value, "display:none") || contains(style->value, "visibility:hidden")))
    return true;
  if (element.tag != GUMBO_TAG_A && element.tag != GUMBO_TAG_SPAN) return false;
  const GumboAttribute* name = gumbo_get_attribute(&element.attributes, "class");
  return element.tag == GUMBO_TAG_A && name != nullptr &&
         (contains(name->value, "headerlink") || contains(name->value, "copiable"));
}

class HtmlWalk {
 public:
  HtmlWalk(const DecodedText& decoded, size_t base, const char* parsed, size_t parsed_size,
           DocumentBuilder& builder)
      : decoded_(decoded),
        base_(base),
        parsed_(parsed),
        parsed_size_(parsed_size),
        builder_(builder),
        text_(decoded) {}

  void walk(const GumboNode* root) {
    std::vector<std::pair<const GumboNode*, unsigned>> path = {{root, 0}};
    if (!enter(root)) return;
    while (!path.empty() && !builder_.full()) {
      auto& [node, index] = path.back();
      const GumboVector* children = children_of(node);
      if (children == nullptr || index >= children->length) {
        leave(node);
        path.pop_back();
        continue;
      }
      const auto* child = static_cast<const GumboNode*>(children->data[index++]);
      if (child->type == GUMBO_NODE_ELEMENT) {
        if (enter(child)) path.emplace_back(child, 0);
      } else if (child->type == GUMBO_NODE_TEXT || child->type == GUMBO_NODE_WHITESPACE ||
                 child->type == GUMBO_NODE_CDATA) {
        add_text(child->v.text);
      }
    }
    flush();
  }

 private:
  static const GumboVector* children_of(const GumboNode* node) {
    if (node->type == GUMBO_NODE_DOCUMENT) return &node->v.document.children;
    if (node->type == GUMBO_NODE_ELEMENT || node->type == GUMBO_NODE_TEMPLATE)
      return &node->v.element.children;
    return nullptr;
  }

  // False: the element's content is not read.
  bool enter(const GumboNode* node) {
    if (node->type != GUMBO_NODE_ELEMENT) return node->type == GUMBO_NODE_DOCUMENT;
    const GumboElement& element = node->v.element;
    const Role role = role_of(element.tag);
    if (element.tag == GUMBO_TAG_HEAD) find_title(node);
    if (role == Role::kSkip || is_hidden(element)) return false;
    switch (role) {
      case Role::kBreak:
        if (!text_.ends_in_space()) text_.separate("\n");
        return false;
      case Role::kBlock:
        boundary();
        break;
      case Role::kHeading:
        flush();
        heading_ = static_cast<int>(element.tag) - static_cast<int>(GUMBO_TAG_H1) + 1;
        break;
      case Role::kPre:
        flush();
        if (pre_++ == 0) text_ = BlockText(decoded_, true);
        break;
      case Role::kItem:
        boundary();
        ++item_;
        break;
      case Role::kRow:
        flush();
        ++row_;
        cells_ = header_cells_ = 0;
        break;
      case Role::kCell:
      case Role::kHeaderCell:
        if (row_ > 0) {
          if (cells_ > 0) text_.separate(" | ");
          ++cells_;
          header_cells_ += role == Role::kHeaderCell ? 1 : 0;
        }
        break;
      default:
        break;
    }
    return true;
  }

  void leave(const GumboNode* node) {
    if (node->type != GUMBO_NODE_ELEMENT) return;
    switch (role_of(node->v.element.tag)) {
      case Role::kBlock:
        boundary();
        break;
      case Role::kHeading:
        flush();
        heading_ = 0;
        break;
      case Role::kPre:
        flush();
        if (--pre_ == 0) text_ = BlockText(decoded_);
        break;
      case Role::kItem:
        boundary();
        --item_;
        break;
      case Role::kRow:
        flush();
        --row_;
        cells_ = header_cells_ = 0;
        break;
      default:
        break;
    }
  }

  // Between blocks. Inside a table's row it is only a space, so that a row stays one block, unless the table
  // is used for layout and its cells hold whole passages.
  void boundary() {
    if (row_ > 0 && heading_ == 0 && pre_ == 0 && text_.size() < 1500) {
      text_.separate(" ");
      return;
    }
    flush();
  }

  void flush() {
    const bool is_row = row_ > 0 && cells_ > 1;
    const Block::Kind kind = heading_ > 0 ? Block::Kind::kHeading
                             : pre_ > 0   ? Block::Kind::kCode
                             : is_row     ? Block::Kind::kTableRow
                             : item_ > 0  ? Block::Kind::kListItem
                                          : Block::Kind::kParagraph;
    Block block = text_.finish(kind, heading_ > 0 ? heading_ : 0);
    // What is left of a row is "|" between empty cells.
    if (is_row && block.text.find_first_not_of(" |\n") == std::string::npos) return;
    block.header = is_row && header_cells_ == cells_;
    builder_.add(std::move(block));
  }

  void find_title(const GumboNode* head) {
    if (!builder_.document().title.empty()) return;
    const GumboVector& children = head->v.element.children;
    for (unsigned i = 0; i < children.length; ++i) {
      const auto* child = static_cast<const GumboNode*>(children.data[i]);
      if (child->type != GUMBO_NODE_ELEMENT || child->v.element.tag != GUMBO_TAG_TITLE) continue;
      for (unsigned k = 0; k < child->v.element.children.length; ++k) {
        const auto* text = static_cast<const GumboNode*>(child->v.element.children.data[k]);
        if (text->type == GUMBO_NODE_TEXT) builder_.document().title += text->v.text.text;
      }
      return;
    }
  }

  // Where in decoded_.text() the parser's text begins, or the end where the pointer is not into the source.
  bool locate(const GumboText& text, size_t& at) const {
    const auto start = reinterpret_cast<uintptr_t>(text.original_text.data),
               from = reinterpret_cast<uintptr_t>(parsed_);
    if (start < from || start + text.original_text.length > from + parsed_size_) return false;
    at = base_ + (start - from);
    return true;
  }

  void copy(size_t at, size_t size) {
    if (pre_ > 0) {
      text_.copy(at, size);
    } else {
      text_.copy_collapsed(at, size);
    }
  }

  // The parser's text beside its source: equal bytes are copied, an entity stands for its character.
  void add_text(const GumboText& node) {
    size_t at = 0;
    if (node.text == nullptr || !locate(node, at)) return;
    const std::string_view source = decoded_.text().substr(at, node.original_text.length);
    const std::string_view text = node.text;
    if (source == text) return copy(at, source.size());
    size_t i = 0, k = 0;
    while (k < text.size() && i < source.size()) {
      size_t same = 0;
      while (i + same < source.size() && k + same < text.size() && source[i + same] == text[k + same] &&
             source[i + same] != '&')
        ++same;
      // Characters that differ may begin with the same bytes.
      while (same > 0 && ((i + same < source.size() && is_continuation(source[i + same])) ||
                          (k + same < text.size() && is_continuation(text[k + same]))))
        --same;
      if (same > 0) {
        copy(at + i, same);
        i += same;
        k += same;
        continue;
      }
      const size_t skipped = skip_unseen(source, i);
      if (skipped > 0) {
        i += skipped;
        continue;
      }
      if (source[i] == '&') {
        size_t end = i + 1;
        while (end < source.size() && end - i < 40 &&
               (std::isalnum(static_cast<unsigned char>(source[end])) || source[end] == '#'))
          ++end;
        if (end < source.size() && source[end] == ';') ++end;
        std::string value = decode_entity(source.substr(i, end - i));
        if (!value.empty() && text.substr(k).starts_with(value)) {
          if (value == "\xc2\xa0") {
            text_.replace(" ", at + i, end - i);
          } else if (value == source.substr(i, end - i)) {
            copy(at + i, end - i);
          } else if (valid_utf8_prefix(value) == value.size() &&
                     static_cast<unsigned char>(value[0]) >= 0x20) {
            text_.replace(value, at + i, end - i);
          }
          i = end;
          k += value.size();
          continue;
        }
      }
      // A character that the parser does not allow in text stands as U+FFFD.
      if (static_cast<unsigned char>(source[i]) < 0x80 || static_cast<unsigned char>(text[k]) < 0x80) break;
      const size_t width = character_size(source, i), shown = character_size(text, k);
      text_.replace(clean_text(text.substr(k, shown)), at + i, width);
      i += width;
      k += shown;
    }
    // Whatever could not be matched (dropped bytes, odd characters) stands for the rest as a whole.
    if (k < text.size()) {
      const size_t from = std::min(i, source.size());
      text_.replace(clean_text(text.substr(k)), at + from, source.size() - from);
    }
  }

  // Bytes of the source that the parser dropped: carriage returns, ignored tags, comments, zero bytes.
  static size_t skip_unseen(std::string_view source, size_t i) {
    if (source[i] == '\r' || source[i] == '\0') return 1;
    if (source[i] != '<') return 0;
    const size_t end = source.substr(i).starts_with("<!--") ? source.find("-->", i) : source.find('>', i);
    if (end == std::string_view::npos) return 0;
    return (source[end] == '-' ? end + 3 : end + 1) - i;
  }

  static bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }
  static size_t character_size(std::string_view text, size_t at) {
    size_t size = 1;
    while (at + size < text.size() && is_continuation(text[at + size])) ++size;
    return size;
  }

  const DecodedText& decoded_;
  size_t base_;
  const char* parsed_;
  size_t parsed_size_;
  DocumentBuilder& builder_;
  BlockText text_;
  int heading_ = 0, pre_ = 0, item_ = 0, row_ = 0, cells_ = 0, header_cells_ = 0;
};

}  // namespace

Status read_html_into(const DecodedText& decoded, size_t at, size_t size, bool xhtml,
                      const ReadLimits& limits, DocumentBuilder& builder) {
  const std::string bounded = bound_html(decoded.text().substr(at, size), xhtml);
  const auto tree = std::make_unique<HtmlTree>(limits.memory_bytes / 2);
  if (!parse_html(*tree, bounded.data(), bounded.size()))
    return fail(ErrorCode::kResourceExhausted, "parsing this HTML needs more than {} bytes",
                limits.memory_bytes / 2);
  HtmlWalk(decoded, at, bounded.data(), bounded.size(), builder).walk(tree->output->document);
  return {};
}

std::string decode_entity(std::string_view text) {
  if (text == "&amp;") return "&";
  if (text == "&lt;") return "<";
  if (text == "&gt;") return ">";
  if (text == "&nbsp;" || text == "&#160;") return "\xc2\xa0";
  const auto tree = std::make_unique<HtmlTree>(int64_t{4} << 20);
  const std::string copy(text);
  if (!parse_html(*tree, copy.data(), copy.size())) return copy;
  const GumboNode* body = tree->output->root;
  for (unsigned i = 0; i < body->v.element.children.length; ++i) {
    const auto* child = static_cast<const GumboNode*>(body->v.element.children.data[i]);
    if (child->type != GUMBO_NODE_ELEMENT || child->v.element.tag != GUMBO_TAG_BODY) continue;
    if (child->v.element.children.length == 0) continue;
    const auto* value = static_cast<const GumboNode*>(child->v.element.children.data[0]);
    if (value->type == GUMBO_NODE_TEXT) return value->v.text.text;
  }
  return copy;
}

Result<Document> read_html(const DecodedText& text, const ReadLimits& limits) {
  DocumentBuilder builder("html", limits);
  const bool xhtml = text.text().substr(0, 100).find("<?xml") != std::string_view::npos;
  EDGE_INFER_RETURN_IF_ERROR(read_html_into(text, 0, text.text().size(), xhtml, limits, builder));
  return std::move(builder).finish();
}

}  // namespace edge_infer
