// Speaks edge-infer-cc's protocol and does what the source of each request says.
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

#include "backends/cpu/cc/cc_identity.h"
#include "backends/cpu/cc/protocol.h"

#ifndef EDGE_INFER_FAKE_BUILD
#define EDGE_INFER_FAKE_BUILD edge_infer::cc_identity()
#endif

using namespace edge_infer;

namespace {

void say(std::string_view bytes) {
  if (::write(1, bytes.data(), bytes.size()) < 0) ::_exit(1);
}

void act(const CcRequest& request) {
  CcReply reply{.id = request.id, .seconds = 0.5, .assembly = {}, .blob = KernelBlob{}};
  reply.blob->image.assign(8, std::byte{0xc3});
  if (request.source == "die") ::raise(SIGKILL);
  if (request.source == "abort") {
    if (::write(2, "assertion failed\n", 17) < 0) ::_exit(1);
    ::_exit(kCcExitFatalError);
  }
  if (request.source == "hang") {
    while (true) ::pause();
  }
  if (request.source == "garbage") say("this is no frame of the protocol");
  if (request.source == "wrong id") reply.id += 100;
  if (request.source == "bad blob") reply.blob->entry = 8;
  if (request.source == "half") {
    say(std::string_view(encode(reply)).substr(0, 20));
    ::_exit(0);
  }
  say(encode(reply));
}

}  // namespace

int main() {
  say(encode(CcHello{std::string(EDGE_INFER_FAKE_BUILD), false, false}));
  CcFrames frames;
  char buffer[4096];
  while (true) {
    const Result<std::optional<std::string>> payload = frames.next();
    if (!payload) return kCcExitProtocol;
    if (*payload) {
      const Result<CcRequest> request = decode_request(**payload);
      if (!request) return kCcExitProtocol;
      act(*request);
      continue;
    }
    const ssize_t n = ::read(0, buffer, sizeof buffer);
    if (n <= 0) return 0;
    frames.append({buffer, static_cast<size_t>(n)});
  }
}
