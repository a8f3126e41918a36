// Builds a Document's blocks from pieces of decoded text, keeping their origins and the limits.
#pragma once

#include <string>
#include <string_view>

#include "apps/documents/document.h"
#include "apps/documents/readers/encoding.h"

namespace edge_infer {

// Collects blocks up to the limits: once one is passed, status() has its error and further blocks are
// dropped.
class DocumentBuilder {
 public:
  DocumentBuilder(std::string format, const ReadLimits& limits) : limits_(limits) {
    document_.format = std::move(format);
  }

  // Drops blocks without visible text. With extracted offsets (pdf, docx, odt, epub) start, end and origins
  // are set here, to the block's place in the extracted text.
  void add(Block block);
  bool full() const { return !status_; }
  Document& document() { return document_; }
  // The document, or the first error; kUnsupported when there is no text.
  Result<Document> finish() &&;

 private:
  ReadLimits limits_;
  Document document_;
  Status status_;
  int64_t text_bytes_ = 0, extracted_ = 0;
};

// Valid UTF-8 without control characters but \n and \t, whatever `text` holds: wrong bytes become U+FFFD,
// controls spaces.
std::string clean_text(std::string_view text);

// A block of text that has no place in a file (its origins are set by a builder with extracted offsets):
// cleaned, and trimmed at both ends.
Block make_block(std::string_view text, Block::Kind kind, int level = 0);

// The text of one block. Positions are offsets into decoded.text(). Control characters become spaces, line
// ends \n; white space at the start is dropped. With `keep_indent`, only blank lines are.
class BlockText {
 public:
  explicit BlockText(const DecodedText& decoded, bool keep_indent = false)
      : decoded_(&decoded), keep_indent_(keep_indent) {}

  // Appends text()[at, at + size) as it is.
  void copy(size_t at, size_t size);
  // The same with every run of white space as one space, or as nothing at the block's start.
  void copy_collapsed(size_t at, size_t size);
  // Appends `text` as one unit that stands for text()[at, at + size).
  void replace(std::string_view text, size_t at, size_t size);
  // Appends `text` unless the block is empty or ends in white space; it stands for nothing in the source.
  void separate(std::string_view text);

  bool empty() const { return text_.empty(); }
  size_t size() const { return text_.size(); }
  bool ends_in_space() const { return text_.empty() || text_.back() == ' ' || text_.back() == '\n'; }
  // The block, trimmed at its end; this becomes empty.
  Block finish(Block::Kind kind, int level = 0);

 private:
  void append_linear(size_t at, size_t size);
  void append_unit(std::string_view text, size_t at, size_t size);
  int64_t source_at(size_t at, bool end) const;

  const DecodedText* decoded_;
  bool keep_indent_;
  size_t pending_at_ = 0, pending_size_ = 0;  // white space that copy_collapsed holds back
  std::string text_;
  std::vector<Origin> origins_;
};

}  // namespace edge_infer
