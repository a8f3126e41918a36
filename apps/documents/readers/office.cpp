#include "apps/documents/readers/office.h"

#include <algorithm>

#include "apps/documents/readers/readers.h"
#include "apps/documents/readers/xml.h"

namespace edge_infer {

void OfficeText::end_paragraph(Block::Kind kind, int level) {
  if (depth_ > 0) {
    if (!row_.empty() && row_.back() != ' ' && !text_.empty()) row_.push_back(' ');
    row_ += text_;
  } else {
    builder_.add(make_block(text_, kind, level));
  }
  text_.clear();
}

void OfficeText::begin_row() {
  // A table inside of a cell: the outer row so far becomes a block of its own.
  if (depth_++ > 0)
    builder_.add(make_block(row_, cells_ > 1 ? Block::Kind::kTableRow : Block::Kind::kParagraph));
  row_.clear();
  cells_ = 0;
}

void OfficeText::begin_cell() {
  if (cells_++ > 0) row_ += " | ";
}

void OfficeText::end_row(bool header) {
  if (!text_.empty()) end_paragraph(Block::Kind::kParagraph, 0);
  const bool blank = row_.find_first_not_of(" |\n\t") == std::string::npos;
  if (!blank) {
    Block block = make_block(row_, cells_ > 1 ? Block::Kind::kTableRow : Block::Kind::kParagraph);
    block.header = header && cells_ > 1;
    builder_.add(std::move(block));
  }
  row_.clear();
  cells_ = 0;
  depth_ = std::max(depth_ - 1, 0);
}

std::string dublin_core_title(ZipParts& parts, const std::string& name) {
  Result<std::string> text = parts.read(name);
  pugi::xml_document document;
  if (!text || !parse_xml(*text, name, document)) return {};
  const pugi::xml_node title = find_element(document, "title");
  return title ? clean_text(text_below(title)) : std::string();
}

Result<Document> read_zip(std::string_view source, std::string_view name, const ReadLimits& limits) {
  EDGE_INFER_ASSIGN(const std::unique_ptr<ZipParts> parts, ZipParts::open(source, limits));
  const std::string ending = name_ending(name);
  std::string mimetype;
  if (parts->has("mimetype")) {
    if (Result<std::string> text = parts->read("mimetype"); text) mimetype = text->substr(0, 100);
  }
  if (mimetype.starts_with("application/epub+zip") || parts->has("META-INF/container.xml"))
    return read_epub(*parts, limits);
  if (mimetype.starts_with("application/vnd.oasis.opendocument.text")) return read_odt(*parts, limits);
  if (parts->has("word/document.xml") || ending == ".docx") return read_docx(*parts, limits);
  if (ending == ".odt") return read_odt(*parts, limits);
  if (ending == ".epub") return read_epub(*parts, limits);
  if (mimetype.starts_with("application/vnd.oasis.opendocument"))
    return fail(ErrorCode::kUnsupported, "no reader for this kind of OpenDocument ({})",
                clean_text(mimetype));
  if (parts->has("xl/workbook.xml")) return fail(ErrorCode::kUnsupported, "no reader for Excel workbooks");
  if (parts->has("ppt/presentation.xml"))
    return fail(ErrorCode::kUnsupported, "no reader for PowerPoint presentations");
  return fail(ErrorCode::kUnsupported, "no reader for zip archives");
}

}  // namespace edge_infer
