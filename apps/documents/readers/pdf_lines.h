// From a PDF's characters to lines, and from lines to blocks. PDF has neither words nor paragraphs: both are
// told from positions.
#pragma once

#include <string>
#include <vector>

#include "apps/documents/readers/builder.h"

namespace edge_infer {

// One line of a page, in points; the origin is the page's lower left corner.
struct PdfLine {
  std::string text;  // UTF-8, trimmed
  int page = 0;      // from 1
  double left = 0, right = 0, baseline = 0;
  double height = 0;    // of the font, the median of its characters
  bool fixed = false;   // a fixed-pitch font
  bool hyphen = false;  // a word goes on in the next line
  int heading = 0;      // level that the outline gives it; 0: none
};

// An entry of the document's outline (bookmarks).
struct PdfBookmark {
  std::string title;
  int page = 0;   // from 1; 0: unknown
  int level = 1;  // from 1
};

// Sets PdfLine::heading of the lines that the outline's titles name on their pages, or, when there is no
// usable outline, of short lines in a font clearly larger than the document's.
void mark_headings(std::vector<PdfLine>& lines, const std::vector<PdfBookmark>& bookmarks);

// Drops running heads, feet and page numbers: first and last lines that recur on many pages, digits aside.
void drop_running_lines(std::vector<PdfLine>& lines, int pages);

// Joins lines into paragraphs (hyphens at line ends resolved), list items, code and headings, in reading
// order.
void add_pdf_blocks(const std::vector<PdfLine>& lines, DocumentBuilder& builder);

}  // namespace edge_infer
