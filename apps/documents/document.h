// A document as the readers deliver it: extracted text in blocks with their provenance.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

// Where a run of text came from: from text_offset on, up to the next run's, each text_unit bytes of text
// stand for source_unit bytes of the source, beginning at source_offset. Copied text is {.., .., 1, 1};
// "&amp;" read as "&" is a run of one unit {.., .., 1, 5}; ASCII in a UTF-16 file is {.., .., 1, 2}.
struct Origin {
  int64_t text_offset = 0, source_offset = 0;
  int32_t text_unit = 1, source_unit = 1;
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct ByteRange {
  int64_t start = 0, end = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct Block {
  enum class Kind { kHeading, kParagraph, kListItem, kTableRow, kCode };
  Kind kind = Kind::kParagraph;
  int level = 0;        // kHeading: 1..6
  bool header = false;  // kTableRow: names the columns of the rows that follow
  std::string text;     // UTF-8 without markup and without control characters but \n and \t; never empty
  int page = 0;         // from 1; 0 where the format has no pages
  // Bytes [start, end) of the source file that the text came from. For pdf, docx, odt and epub: of the
  // extracted text, which is every block's text with "\n\n" between them.
  int64_t start = 0, end = 0;
  std::vector<Origin> origins;  // ascending; the first at text offset 0
};

struct Document {
  std::string format;  // "text" | "markdown" | "html" | "pdf" | "docx" | "odt" | "epub"
  std::string title;   // as the document states it; empty where it does not
  std::string
      note;  // what a user should know of the reading ("not utf-8: read as windows-1252"); mostly empty
  std::vector<Block> blocks;  // in reading order; at least one
};

// The source bytes that block.text[begin, end) came from: the smallest range of whole units that covers it.
ByteRange source_range(const Block& block, int64_t begin, int64_t end);

// Asked about every 50 ms; true ends a reading with kCancelled. Any thread.
using StopReading = std::function<bool()>;

struct ReadLimits {
  int64_t file_bytes = int64_t{512} << 20;
  int64_t text_bytes = int64_t{64} << 20;     // extracted text
  int64_t memory_bytes = int64_t{512} << 20;  // of the child process, the file itself not counted
  int64_t time_ms = 60'000;                   // of a processor, rounded up to a second; by the clock 4 x this
};

// Reads one file in a sandboxed child process (DESIGN.md §10): the program edge-infer-read beside this
// program or library. The format is told from the content, then from the name's ending. Thread-safe; blocks
// until the child is gone. A file that grows meanwhile is read as far as it went when it was opened. Errors
// name the reason as a user would read it, without the path:
//   kUnsupported        a kind that no reader handles, or nothing to read: no text, no text layer, an empty
//   file kCorruption         a broken or hostile file, or one whose content contradicts its name
//   kInvalidArgument    not a regular file (a link, FIFO, folder, device), or encrypted
//   kResourceExhausted  over a limit
//   kNotFound, kIoError what the system refused
//   kCancelled          `stop` said so
//   kInternal           the helper program, or for a pdf libpdfium.so, is missing: nothing is said of the
//   file
Result<Document> read_document(const std::filesystem::path& path, const ReadLimits& limits = {},
                               const StopReading& stop = {});

// The same for a file that the caller has open for reading (so that what it hashed is what is read):
// `descriptor` stays the caller's and its position does not matter; only the ending of `name` is looked at.
Result<Document> read_open_document(int descriptor, const std::string& name, const ReadLimits& limits = {},
                                    const StopReading& stop = {});

}  // namespace edge_infer
