// One file on its way through the pipeline, and the two steps that concern it alone: is it new, and what does
// it hold.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/documents/chunker.h"
#include "apps/documents/document.h"
#include "apps/index/store.h"
#include "apps/index/walk.h"
#include "models/tokenizers/tokenizer.h"

namespace edge_infer {

// How files become chunks. Passed in, so that tests need neither sandbox nor model.
struct DocumentSource {
  // Thread-safe, as read_document. kInternal says nothing about the file.
  std::function<Result<Document>(const std::filesystem::path&, const StopReading&)> read;
  // Thread-safe. May end early when it is told to stop.
  std::function<std::vector<Chunk>(const Document&, const StopReading&)> chunk;
  // Names the reader, the chunker and their options: files made by another version are read again.
  std::string version;
};

struct FileTask {
  enum class Outcome {
    kUnchanged,  // nothing to write
    kTouched,    // same content under another stamp
    kReplaced,   // record and passages are new
    kKept,       // could not be read now; what the index holds of it stays, and the next run tries again
    kGone,       // vanished between walk and read
  };
  FoundFile found;
  std::optional<FileRecord> known;
  Outcome outcome = Outcome::kUnchanged;
  FileRecord record;                      // what to report, and to write for kTouched and kReplaced
  std::vector<Passage> passages;          // without vectors
  std::vector<std::vector<int32_t>> ids;  // of each passage: its tokens, special ones and prompt included
  std::vector<size_t> missing;            // passages that must be embedded
  double bytes_counted = 0;               // how much of the file's size progress has counted as done
  int64_t chunks_counted = 0, tokens_counted = 0;  // and how many of its passages, and of tokens embedded
};

// How passages become tokens; shared by all tasks.
struct TokenRules {
  const Tokenizer* tokenizer = nullptr;
  std::string prompt;  // put in front of each passage
  int64_t max_length = 0;
};

// True when the stamp alone says that nothing changed; fills outcome and record.
bool settle_by_stamp(FileTask& task, const std::string& version);

// Hashes, reads, cuts and tokenizes. Never fails: an error becomes the record's status and reason. A file
// that changes while it is read is read again, at most three times; when that ends with an error, what the
// index holds of it stays. Soon after `stop` says so it is back, with a task that is of no use.
void read_task(FileTask& task, const DocumentSource& source, const TokenRules& rules,
               const StopReading& stop);

}  // namespace edge_infer
