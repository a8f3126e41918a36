// Any text in any arrangement of blocks: chunks within the budget that lose nothing but white space.
#include <cstdlib>
#include <string>
#include <string_view>

#include "apps/documents/chunker.h"
#include "apps/documents/readers/readers.h"
#include "tests/unit/documents/test_tokenizer.h"

using namespace edge_infer;

namespace {

// Visible bytes of a text.
size_t visible(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += c != ' ' && c != '\n' && c != '\t';
  return count;
}

}  // namespace

// Bytes 0..2: budget, overlap, prompt; the rest is text, cut into blocks at bytes 1..31 that are no white
// space, which also tell the kind and level of what follows.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3 || size > 1 << 16) return 0;
  ChunkOptions options;
  options.max_tokens = 20 + data[0];
  options.overlap_tokens = data[1];
  options.prompt = data[2] % 2 == 0 ? "" : "query: ";
  Document document;
  document.format = "text";
  Block block;
  size_t total = 0;
  int64_t at = 0;
  const auto close = [&](uint8_t mark) {
    if (!block.text.empty()) {
      block.start = at;
      at += static_cast<int64_t>(block.text.size());
      block.end = at;
      block.origins = {{0, block.start, 1, 1}};
      total += visible(block.text);
      document.blocks.push_back(block);
    }
    block = {};
    block.kind = static_cast<Block::Kind>(mark % 5);
    block.level = block.kind == Block::Kind::kHeading ? 1 + mark % 6 : 0;
    block.header = block.kind == Block::Kind::kTableRow && mark > 16;
  };
  for (size_t i = 3; i < size; ++i) {
    const uint8_t byte = data[i];
    if (byte < 32 && byte != '\n' && byte != '\t') {
      close(byte);
    } else {
      block.text.push_back(static_cast<char>(byte));
    }
  }
  close(0);
  const TestTokenizer tokenizer;
  size_t seen = 0;
  for (const Chunk& chunk : chunk_document(document, tokenizer, options)) {
    Encoding encoding;
    tokenizer.encode(options.prompt + chunk.embedded, 0, encoding);
    if (encoding.tokens != chunk.tokens || chunk.tokens > options.max_tokens) std::abort();
    if (chunk.start < 0 || chunk.end < chunk.start || chunk.end > at) std::abort();
    seen += visible(chunk.text);
  }
  if (seen < total) std::abort();
  return 0;
}
