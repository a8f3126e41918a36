// Cuts a document into passages that fit the embedder, by its own tokenizer and along the document's
// structure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/documents/document.h"
#include "models/tokenizers/tokenizer.h"

namespace edge_infer {

struct Chunk {
  std::string text;      // what is stored and shown
  std::string embedded;  // what is embedded: heading path in front of the text
  std::string heading;   // "Chapter > Section", possibly empty
  int page = 0;          // of the first block; 0: none
  int64_t start = 0,
          end =
              0;  // the smallest range that holds all of `text` (a repeated table header aside); Block::start
  int64_t tokens = 0;  // of prompt + `embedded`, special tokens included: what the tokenizer really says
};

struct ChunkOptions {
  int64_t max_tokens = 256;  // special tokens and prompt included
  int64_t overlap_tokens = 32;
  std::string prompt;  // put in front of every chunk by the embedder; counted here
  // Asked all the time; true: nobody wants the passages, and it ends early.
  StopReading stop = {};
};

// Passages in document order that together hold every word of the document. No passage's `tokens` exceeds
// max_tokens (which must leave at least 16 tokens to the text; smaller values count as such). Blocks are
// packed greedily; a chunk ends before a heading of level 1 or 2, before a deeper one once it is half full
// or when the section that begins there does not fit its rest as a whole, and rather between blocks than
// within one. Longer blocks are cut between sentences, else lines, else words, else tokens. A chunk that
// continues its section begins with the last whole sentences of the one before, up to overlap_tokens; a
// continued table begins with its header row instead. Linear time.
std::vector<Chunk> chunk_document(const Document& document, const Tokenizer& tokenizer,
                                  const ChunkOptions& options);

}  // namespace edge_infer
