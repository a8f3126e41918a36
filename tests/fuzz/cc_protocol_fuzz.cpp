// Any bytes as a stream between CcCompiler and edge-infer-cc, and as each message and a kernel blob: what
// decodes encodes to the same bytes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "backends/cpu/cc/protocol.h"

using namespace edge_infer;

namespace {

void check(std::string_view payload) {
  const auto same = [&](const std::string& frame) {
    if (std::string_view(frame).substr(8) != payload) std::abort();
  };
  if (const Result<CcHello> hello = decode_hello(payload)) same(encode(*hello));
  if (const Result<CcRequest> request = decode_request(payload)) same(encode(*request));
  if (const Result<CcReply> reply = decode_reply(payload)) same(encode(*reply));
  const auto bytes = std::as_bytes(std::span(payload));
  if (const Result<KernelBlob> blob = KernelBlob::parse(bytes)) {
    const std::vector<std::byte> again = blob->serialize();
    if (!std::ranges::equal(again, bytes)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(bytes);
  CcFrames frames;
  size_t at = 0;
  while (true) {
    const Result<std::optional<std::string>> payload = frames.next();
    if (!payload) return 0;
    if (*payload) {
      check(**payload);
      continue;
    }
    if (at == size) return 0;
    const size_t piece = std::min<size_t>(size - at, 1 + data[at] % 64);
    frames.append(bytes.substr(at, piece));
    at += piece;
  }
}
