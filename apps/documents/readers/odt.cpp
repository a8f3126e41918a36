// OpenDocument text.
#include <algorithm>
#include <string>

#include "apps/documents/readers/office.h"
#include "apps/documents/readers/xml.h"

namespace edge_infer {
namespace {

class OdtReader {
 public:
  explicit OdtReader(DocumentBuilder& builder) : builder_(builder), text_(builder) {}

  void read(const pugi::xml_node& root) {
    walk_xml(
        root, [this](const pugi::xml_node& node) { return enter(node); },
        [this](const pugi::xml_node& node) { leave(node); });
  }

 private:
  bool enter(const pugi::xml_node& node) {
    if (builder_.full()) return false;
    if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata) {
      if (paragraphs_ > 0) append_collapsed(node.value());
      return false;
    }
    const std::string_view name = local_name(node);
    if (name == "p" || name == "h") {
      // A note or a frame inside of a paragraph stays in its place.
      if (paragraphs_++ > 0) append_collapsed(" ");
      if (paragraphs_ == 1) {
        const std::string_view level = local_attribute(node, "outline-level");
        level_ = name == "h" ? (level.size() == 1 ? std::clamp(level[0] - '0', 1, 6)
                                : level.empty()   ? 1
                                                  : 6)
                             : 0;
      }
    } else if (name == "s") {
      append_collapsed(" ");
    } else if (name == "tab") {
      text_.append("\t");
    } else if (name == "line-break") {
      text_.append("\n");
    } else if (name == "list-item" || name == "list-header") {
      ++items_;
    } else if (name == "table-header-rows") {
      header_ = true;
    } else if (name == "table-row") {
      text_.begin_row();
    } else if (name == "table-cell") {
      text_.begin_cell();
    }
    return name != "tracked-changes" && name != "annotation" && name != "forms" && name != "sequence-decls" &&
           name != "note-citation" && name != "scripts" && name != "font-face-decls" &&
           name != "automatic-styles";
  }

  void leave(const pugi::xml_node& node) {
    const std::string_view name = local_name(node);
    if (name == "p" || name == "h") {
      if (--paragraphs_ > 0) return append_collapsed(" ");
      const Block::Kind kind = level_ > 0   ? Block::Kind::kHeading
                               : items_ > 0 ? Block::Kind::kListItem
                                            : Block::Kind::kParagraph;
      text_.end_paragraph(kind, level_);
      space_ = true;
      level_ = 0;
    } else if (name == "list-item" || name == "list-header") {
      --items_;
    } else if (name == "table-header-rows") {
      header_ = false;
    } else if (name == "table-row") {
      text_.end_row(header_);
    }
  }

  // OpenDocument collapses white space as HTML does.
  void append_collapsed(std::string_view piece) {
    if (text_.empty()) space_ = true;
    std::string out;
    for (const char c : piece) {
      const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
      if (!space) out.push_back(c);
      if (space && !space_) out.push_back(' ');
      space_ = space;
    }
    text_.append(out);
  }

  DocumentBuilder& builder_;
  OfficeText text_;
  int paragraphs_ = 0, items_ = 0, level_ = 0;
  bool header_ = false, space_ = true;
};

}  // namespace

Result<Document> read_odt(ZipParts& parts, const ReadLimits& limits) {
  if (Result<std::string> manifest = parts.read("META-INF/manifest.xml");
      manifest && manifest->find("encryption-data") != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "encrypted document: a password is needed");
  DocumentBuilder builder("odt", limits);
  EDGE_INFER_ASSIGN(std::string text, parts.read("content.xml"));
  pugi::xml_document document;
  EDGE_INFER_RETURN_IF_ERROR(parse_xml(text, "content.xml", document));
  OdtReader(builder).read(document);
  if (parts.has("meta.xml")) builder.document().title = dublin_core_title(parts, "meta.xml");
  return std::move(builder).finish();
}

}  // namespace edge_infer
