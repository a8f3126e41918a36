// The documents inside of a zip container.
#pragma once

#include "apps/documents/readers/builder.h"
#include "apps/documents/readers/zip_parts.h"

namespace edge_infer {

Result<Document> read_docx(ZipParts& parts, const ReadLimits& limits);
Result<Document> read_odt(ZipParts& parts, const ReadLimits& limits);
Result<Document> read_epub(ZipParts& parts, const ReadLimits& limits);

// dc:title of the part `name`, or empty.
std::string dublin_core_title(ZipParts& parts, const std::string& name);

// Collects the paragraphs of a word processor's text into blocks: inside of a table's row the cells are
// joined.
class OfficeText {
 public:
  explicit OfficeText(DocumentBuilder& builder) : builder_(builder) {}
  void append(std::string_view text) { text_.append(text); }
  // The paragraph is over.
  void end_paragraph(Block::Kind kind, int level);
  void begin_row();
  void begin_cell();
  void end_row(bool header);
  bool empty() const { return text_.empty(); }

 private:
  DocumentBuilder& builder_;
  std::string text_, row_;
  int depth_ = 0, cells_ = 0;
};

}  // namespace edge_infer
