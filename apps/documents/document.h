// A document as the readers deliver it: extracted text in blocks with their provenance.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

struct Block {
  enum class Kind { kHeading, kParagraph, kListItem, kTableRow, kCode };
  Kind kind = Kind::kParagraph;
  int level = 0;  // kHeading: 1..6
  std::string text;  // UTF-8, without markup
  int page = 0;      // from 1; 0 where the format has no pages
  // Bytes [start, end) of the source file that the block came from; for PDF: of the extracted text.
  int64_t start = 0, end = 0;
  // Where each byte run of `text` came from: text[text_offset..] maps to source_offset.. up to the next entry.
  struct Origin {
    int64_t text_offset = 0, source_offset = 0;
  };
  std::vector<Origin> origins;
};

struct Document {
  std::string format;  // "text" | "markdown" | "html" | "pdf"
  std::string title;
  std::vector<Block> blocks;
};

struct ReadLimits {
  int64_t file_bytes = int64_t{512} << 20;
  int64_t text_bytes = int64_t{64} << 20;   // extracted text
  int64_t memory_bytes = int64_t{1} << 30;  // of the child process
  int64_t time_ms = 60'000;                 // CPU and wall-clock
};

// Reads one file in a sandboxed child process (DESIGN.md §10). Thread-safe. Errors name the reason as a user would
// read it ("encrypted pdf", "not a text file", ...): kUnsupported for a kind no reader handles, kCorruption for a
// broken file, kResourceExhausted for a limit, kIoError for what the system refused.
Result<Document> read_document(const std::filesystem::path& path, const ReadLimits& limits = {});

}  // namespace edge_infer
