// Markdown in any encoding to blocks: no crash, no overrun, offsets inside of the input.
#include <cstdlib>
#include <string_view>

#include "apps/documents/protocol.h"
#include "apps/documents/readers/readers.h"

using namespace edge_infer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const std::string label;
  const auto charset = Charset::open(label);
  const Result<DecodedText> text = decode_text(source, label, charset.get());
  if (!text) return 0;
  ReadLimits limits;
  limits.text_bytes = 1 << 20;
  limits.memory_bytes = int64_t{256} << 20;
  Result<Document> document = read_markdown(*text, limits);
  if (!document) return 0;
  // What the child would send must be what the parent accepts.
  const auto bytes = encode_answer({true, true, *std::move(document)});
  const Result<ReaderAnswer> answer = decode_answer(bytes, limits, static_cast<int64_t>(size));
  if (!answer || !answer->document) std::abort();
  return 0;
}
