// What edge-infer-cc reads and writes. Neither side trusts the other: every length is bounded and checked.
//
//   stream  = frame*          frame = "EIC1" bytes:u32 payload          (numbers are little-endian)
//   payload = kind:u8 body    string = bytes:u32 text
//   hello   = kind 0: build:string flags:u8 (1: seccomp is on, 2: Landlock is on)     once, by the helper
//   request = kind 1: id:u32 flags:u8 (1: assembly wanted) target features source     by the client
//   reply   = kind 2: id:u32 seconds:f64 code:u8 message assembly blob                by the helper, in order
//
// The client ends the session by closing its side. A reply's code is 0 for success, else 1 + ErrorCode; its
// blob is KernelBlob::serialize().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/program/kernel_blob.h"

namespace edge_infer {

constexpr size_t kCcMaxMessageBytes = size_t{32} << 20;
constexpr size_t kCcMaxSourceBytes = size_t{4} << 20;
constexpr size_t kCcMaxAssemblyBytes = size_t{16} << 20;
constexpr size_t kCcMaxDiagnosticBytes = size_t{64} << 10;

// How the helper's process ends when it cannot go on.
constexpr int kCcExitProtocol = 65;
constexpr int kCcExitFatalError = 70;
constexpr int kCcExitOutOfMemory = 71;

struct CcHello {
  std::string build;  // identity of the helper, as the client expects it
  bool seccomp = false, landlock = false;
};

struct CcRequest {
  uint32_t id = 0;
  std::string target, features, source;
  bool assembly = false;
};

struct CcReply {
  uint32_t id = 0;
  double seconds = 0;  // CPU time since the reply before
  std::string assembly;
  Result<KernelBlob> blob;
};

// Whole frames. Text beyond the limits above is cut (diagnostics, assembly).
std::string encode(const CcHello& hello);
std::string encode(const CcRequest& request);
std::string encode(const CcReply& reply);

// One frame's payload. Errors: kCorruption naming what was found and expected.
Result<CcHello> decode_hello(std::string_view payload);
Result<CcRequest> decode_request(std::string_view payload);
Result<CcReply> decode_reply(std::string_view payload);

// Cuts a stream into payloads.
class CcFrames {
 public:
  void append(std::string_view bytes) { buffer_.append(bytes); }
  // The next payload, nothing when more bytes are needed. Errors: kCorruption; the stream is lost then.
  Result<std::optional<std::string>> next();
  // Whether bytes of an unfinished frame are left.
  bool partial() const { return !buffer_.empty(); }

 private:
  std::string buffer_;
};

}  // namespace edge_infer
