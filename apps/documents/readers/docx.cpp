// Word documents (OOXML, transitional and strict: names are compared without their namespace).
#include <algorithm>
#include <map>
#include <string>

#include "apps/documents/readers/office.h"
#include "apps/documents/readers/xml.h"

namespace edge_infer {
namespace {

constexpr const char* kMainPart = "word/document.xml";

// The part that holds the text, as the package's relationships say.
std::string main_part(ZipParts& parts) {
  Result<std::string> text = parts.read("_rels/.rels");
  pugi::xml_document document;
  if (!text || !parse_xml(*text, "_rels/.rels", document)) return kMainPart;
  std::string found = kMainPart;
  walk_xml(
      document,
      [&](const pugi::xml_node& node) {
        if (local_name(node) == "Relationship" &&
            local_attribute(node, "Type").ends_with("/officeDocument")) {
          std::string_view target = local_attribute(node, "Target");
          if (target.starts_with('/')) target.remove_prefix(1);
          if (parts.has(std::string(target))) found = target;
        }
        return true;
      },
      [](const pugi::xml_node&) {});
  return found;
}

// Heading level by style id: from the outline level, or from the built-in names "heading 1".."heading 9" and
// "Title".
class Styles {
 public:
  explicit Styles(ZipParts& parts) {
    Result<std::string> text = parts.read("word/styles.xml");
    pugi::xml_document document;
    if (!text || !parse_xml(*text, "word/styles.xml", document)) return;
    walk_xml(
        document,
        [&](const pugi::xml_node& node) {
          if (local_name(node) == "style") add(node);
          return local_name(node) != "style";
        },
        [](const pugi::xml_node&) {});
  }

  int level(std::string_view id) const {
    std::string at(id);
    for (int hops = 0; hops < 20; ++hops) {
      const auto found = styles_.find(at);
      if (found == styles_.end()) break;
      if (found->second.level > 0) return found->second.level;
      at = found->second.based_on;
    }
    return 0;
  }

 private:
  struct Style {
    int level = 0;
    std::string based_on;
  };
  void add(const pugi::xml_node& node) {
    Style style;
    if (const pugi::xml_node base = find_element(node, "basedOn"))
      style.based_on = local_attribute(base, "val");
    if (const pugi::xml_node outline = find_element(node, "outlineLvl")) {
      const std::string value(local_attribute(outline, "val"));
      if (value.size() == 1 && value[0] >= '0' && value[0] < '9')
        style.level = std::min(value[0] - '0' + 1, 6);
    }
    if (const pugi::xml_node name = find_element(node, "name"); name && style.level == 0) {
      const std::string_view value = local_attribute(name, "val");
      if (value == "Title" || value == "title") style.level = 1;
      if ((value.starts_with("heading ") || value.starts_with("Heading ")) && value.size() == 9 &&
          value[8] >= '1' && value[8] <= '9')
        style.level = std::min(value[8] - '0', 6);
    }
    styles_.emplace(local_attribute(node, "styleId"), std::move(style));
  }
  std::map<std::string, Style> styles_;
};

class DocxReader {
 public:
  DocxReader(const Styles& styles, DocumentBuilder& builder)
      : styles_(styles), builder_(builder), text_(builder) {}

  void read(const pugi::xml_node& root) {
    walk_xml(
        root, [this](const pugi::xml_node& node) { return enter(node); },
        [this](const pugi::xml_node& node) { leave(node); });
    if (!text_.empty()) text_.end_paragraph(kind_, level_);
  }

 private:
  bool enter(const pugi::xml_node& node) {
    if (builder_.full()) return false;
    const std::string_view name = local_name(node);
    if (name == "p") {
      // A text box inside of a paragraph: the paragraph so far ends here.
      if (!text_.empty()) text_.end_paragraph(kind_, level_);
      kind_ = Block::Kind::kParagraph;
      level_ = 0;
    } else if (name == "pStyle") {
      level_ = styles_.level(local_attribute(node, "val"));
      if (level_ > 0) kind_ = Block::Kind::kHeading;
    } else if (name == "numPr") {
      if (level_ == 0) kind_ = Block::Kind::kListItem;
    } else if (name == "t") {
      for (const pugi::xml_node& child : node.children()) text_.append(child.value());
      return false;
    } else if (name == "tab") {
      if (local_name(node.parent()) != "tabs") text_.append("\t");
    } else if (name == "br" || name == "cr") {
      text_.append("\n");
    } else if (name == "noBreakHyphen") {
      text_.append("-");
    } else if (name == "tr") {
      text_.begin_row();
      header_ = false;
    } else if (name == "tc") {
      text_.begin_cell();
    } else if (name == "tblHeader") {
      header_ = true;
    }
    // Deleted text, field codes, and the second form of drawings that repeats the first one's text.
    return name != "delText" && name != "instrText" && name != "Fallback" && name != "del" &&
           name != "moveFrom";
  }

  void leave(const pugi::xml_node& node) {
    const std::string_view name = local_name(node);
    if (name == "p") {
      text_.end_paragraph(kind_, level_);
      kind_ = Block::Kind::kParagraph;
      level_ = 0;
    } else if (name == "tr") {
      text_.end_row(header_);
      header_ = false;
    }
  }

  const Styles& styles_;
  DocumentBuilder& builder_;
  OfficeText text_;
  Block::Kind kind_ = Block::Kind::kParagraph;
  int level_ = 0;
  bool header_ = false;
};

}  // namespace

Result<Document> read_docx(ZipParts& parts, const ReadLimits& limits) {
  DocumentBuilder builder("docx", limits);
  const std::string main = main_part(parts);
  EDGE_INFER_ASSIGN(std::string text, parts.read(main));
  pugi::xml_document document;
  EDGE_INFER_RETURN_IF_ERROR(parse_xml(text, main, document));
  const Styles styles(parts);
  DocxReader(styles, builder).read(document);
  for (const char* notes : {"word/footnotes.xml", "word/endnotes.xml"}) {
    if (!parts.has(notes)) continue;
    EDGE_INFER_ASSIGN(std::string notes_text, parts.read(notes));
    pugi::xml_document notes_document;
    EDGE_INFER_RETURN_IF_ERROR(parse_xml(notes_text, notes, notes_document));
    DocxReader(styles, builder).read(notes_document);
  }
  if (parts.has("docProps/core.xml"))
    builder.document().title = dublin_core_title(parts, "docProps/core.xml");
  return std::move(builder).finish();
}

}  // namespace edge_infer
