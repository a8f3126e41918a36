// The readers: from a file's bytes to a Document. They run in the sandboxed child process; they keep to the
// limits on text themselves, and leave memory and time to the process' limits. Each needs `source` to outlive
// the call only.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "apps/documents/document.h"
#include "apps/documents/readers/encoding.h"
#include "apps/documents/readers/pdfium.h"

namespace edge_infer {

enum class Format { kText, kMarkdown, kHtml, kPdf, kZip };

// By content (magic numbers, then the form of the text), then by the ending of `name`. Errors: kUnsupported
// for what no reader handles, kCorruption for content that contradicts a name which a reader would handle.
Result<Format> sniff_format(std::string_view source, std::string_view name);

// Lower-case ending of a name with its dot; empty where there is none.
std::string name_ending(std::string_view name);

Result<Document> read_text(const DecodedText& text, const ReadLimits& limits);
Result<Document> read_markdown(const DecodedText& text, const ReadLimits& limits);
Result<Document> read_html(const DecodedText& text, const ReadLimits& limits);
Result<Document> read_pdf(std::string_view source, const Pdfium& pdfium, const ReadLimits& limits);
// docx, odt and epub, told apart by what is in the archive, then by `name`.
Result<Document> read_zip(std::string_view source, std::string_view name, const ReadLimits& limits);

// A file on its way through: what must be loaded from the system (charsets, PDFium) is loaded by prepare(),
// before the sandbox closes; read() needs nothing but memory.
class PreparedDocument {
 public:
  // `pdfium_path` may be empty. Errors: those of sniff_format(); kInternal when PDFium is needed and missing.
  static Result<PreparedDocument> prepare(std::string_view source, std::string_view name,
                                          const std::string& pdfium_path);
  Result<Document> read(const ReadLimits& limits);

 private:
  Format format_ = Format::kText;
  std::string_view source_, name_;
  std::string label_;
  std::unique_ptr<Charset> charset_;
  std::unique_ptr<Pdfium> pdfium_;
};

}  // namespace edge_infer
