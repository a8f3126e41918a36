// What a subverted child may send: the parent refuses it or gets a sound document.
#include <cstdlib>
#include <string_view>

#include "apps/documents/protocol.h"

using namespace edge_infer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kFile = 4096;
  ReadLimits limits;
  limits.text_bytes = 1 << 16;
  const Result<ReaderAnswer> answer =
      decode_answer({reinterpret_cast<const char*>(data), size}, limits, kFile);
  if (!answer || !answer->document) return 0;
  const int64_t most = has_extracted_offsets(answer->document->format) ? 3 * limits.text_bytes : kFile;
  for (const Block& block : answer->document->blocks) {
    const auto length = static_cast<int64_t>(block.text.size());
    if (valid_utf8_prefix(block.text) != block.text.size()) std::abort();
    for (int64_t at = 0; at < length; at += 1 + length / 16) {
      const ByteRange range = source_range(block, at, length);
      if (range.start < 0 || range.end < range.start || range.end > most) std::abort();
    }
  }
  // What was accepted is written back the same.
  const std::string again = encode_answer(*answer);
  const Result<ReaderAnswer> second = decode_answer(again, limits, kFile);
  if (!second || encode_answer(*second) != again) std::abort();
  return 0;
}
