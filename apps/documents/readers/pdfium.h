// The part of PDFium that text extraction uses, loaded with dlopen. PDFium is not thread-safe: one instance a
// process.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "runtime/base/error.h"

namespace edge_infer {

struct PdfDocumentHandle;
struct PdfPageHandle;
struct PdfTextHandle;
struct PdfBookmarkHandle;
struct PdfDestHandle;

struct PdfRect {
  float left, top, right, bottom;
};

// PDFium's C functions under their own names without the prefix FPDF; see PDFium's public/fpdfview.h,
// fpdf_text.h and fpdf_doc.h for their contracts.
struct Pdfium {
  // Loads and initializes the library at `path`, with no system fonts (so that nothing is opened later).
  // Errors: kUnsupported with the loader's reason.
  static Result<std::unique_ptr<Pdfium>> load(const std::string& path);
  ~Pdfium();
  Pdfium(const Pdfium&) = delete;
  Pdfium& operator=(const Pdfium&) = delete;

  PdfDocumentHandle* (*load_mem_document)(const void* data, size_t size, const char* password);
  void (*close_document)(PdfDocumentHandle*);
  unsigned long (*last_error)();
  int (*page_count)(PdfDocumentHandle*);
  PdfPageHandle* (*load_page)(PdfDocumentHandle*, int index);
  void (*close_page)(PdfPageHandle*);
  unsigned long (*meta_text)(PdfDocumentHandle*, const char* tag, void* buffer, unsigned long size);
  PdfTextHandle* (*text_load_page)(PdfPageHandle*);
  void (*text_close_page)(PdfTextHandle*);
  int (*text_count_chars)(PdfTextHandle*);
  unsigned int (*text_unicode)(PdfTextHandle*, int index);
  int (*text_is_generated)(PdfTextHandle*, int index);
  int (*text_char_origin)(PdfTextHandle*, int index, double* x, double* y);
  int (*text_loose_char_box)(PdfTextHandle*, int index, PdfRect* box);
  unsigned long (*text_font_info)(PdfTextHandle*, int index, void* buffer, unsigned long size, int* flags);
  PdfBookmarkHandle* (*bookmark_first_child)(PdfDocumentHandle*, PdfBookmarkHandle*);
  PdfBookmarkHandle* (*bookmark_next_sibling)(PdfDocumentHandle*, PdfBookmarkHandle*);
  unsigned long (*bookmark_title)(PdfBookmarkHandle*, void* buffer, unsigned long size);
  PdfDestHandle* (*bookmark_dest)(PdfDocumentHandle*, PdfBookmarkHandle*);
  int (*dest_page_index)(PdfDocumentHandle*, PdfDestHandle*);

 private:
  Pdfium() = default;
  void (*destroy_library_)() = nullptr;
  void* library_ = nullptr;
};

}  // namespace edge_infer
