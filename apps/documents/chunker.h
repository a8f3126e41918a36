// Cuts a document into passages that fit the embedder, by its own tokenizer and along the document's structure.
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
  int64_t start = 0, end = 0;  // bytes, as Block::start
  int64_t tokens = 0;    // of `embedded`, special tokens and prompt included
};

struct ChunkOptions {
  int64_t max_tokens = 256;  // special tokens and prompt included
  int64_t overlap_tokens = 32;
  std::string prompt;  // put in front of every chunk by the embedder; counted here
};

std::vector<Chunk> chunk_document(const Document& document, const Tokenizer& tokenizer, const ChunkOptions& options);

}  // namespace edge_infer
