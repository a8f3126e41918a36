#include "backends/cpu/cc/protocol.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

namespace edge_infer {
namespace {

constexpr std::string_view kMagic = "EIC1";
constexpr size_t kFrameHeader = 8;
enum Kind : uint8_t { kHello = 0, kRequest = 1, kReply = 2 };
constexpr auto kLastErrorCode = static_cast<uint8_t>(ErrorCode::kInternal);

class Writer {
 public:
  explicit Writer(Kind kind) : out_(kMagic) {
    u32(0);
    u8(kind);
  }
  void u8(uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u32(uint32_t value) { number(value, 4); }
  void u64(uint64_t value) { number(value, 8); }
  void text(std::string_view value) {
    u32(static_cast<uint32_t>(value.size()));
    out_.append(value);
  }
  std::string finish() && {
    const auto bytes = static_cast<uint32_t>(out_.size() - kFrameHeader);
    for (size_t i = 0; i < 4; ++i) out_[4 + i] = static_cast<char>((bytes >> (8 * i)) & 0xff);
    return std::move(out_);
  }

 private:
  void number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) u8(static_cast<uint8_t>(value >> (8 * i)));
  }
  std::string out_;
};

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  return value;
}

// Reads past the end give zeros and are told at the end.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  uint8_t u8() { return static_cast<uint8_t>(little_endian(take(1))); }
  uint32_t u32() { return static_cast<uint32_t>(little_endian(take(4))); }
  uint64_t u64() { return little_endian(take(8)); }
  std::string_view text(size_t limit) {
    const uint32_t size = u32();
    if (size > limit) good_ = false;
    return take(good_ ? size : 0);
  }
  Status finish(std::string_view what) const {
    if (!good_) return fail(ErrorCode::kCorruption, "a {} with a length beyond its end or limit", what);
    if (at_ != bytes_.size())
      return fail(ErrorCode::kCorruption, "a {} with {} bytes behind its end", what, bytes_.size() - at_);
    return {};
  }

 private:
  std::string_view take(size_t size) {
    if (!good_ || size > bytes_.size() - at_) {
      good_ = false;
      return {};
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  std::string_view bytes_;
  size_t at_ = 0;
  bool good_ = true;
};

Status expect_kind(Reader& reader, Kind kind, std::string_view what) {
  if (const uint8_t found = reader.u8(); found != kind)
    return fail(ErrorCode::kCorruption, "a message of kind {} instead of a {} (kind {})", found, what,
                static_cast<int>(kind));
  return {};
}

}  // namespace

std::string encode(const CcHello& hello) {
  Writer out(kHello);
  out.text(hello.build);
  out.u8(static_cast<uint8_t>((hello.seccomp ? 1 : 0) | (hello.landlock ? 2 : 0)));
  return std::move(out).finish();
}

std::string encode(const CcRequest& request) {
  Writer out(kRequest);
  out.u32(request.id);
  out.u8(request.assembly ? 1 : 0);
  out.text(request.target);
  out.text(request.features);
  out.text(request.source);
  return std::move(out).finish();
}

std::string encode(const CcReply& reply) {
  Writer out(kReply);
  out.u32(reply.id);
  out.u64(std::bit_cast<uint64_t>(reply.seconds));
  const std::string_view message = reply.blob ? std::string_view() : reply.blob.error().message;
  out.u8(reply.blob ? 0 : static_cast<uint8_t>(1 + static_cast<int>(reply.blob.error().code)));
  out.text(message.substr(0, kCcMaxDiagnosticBytes));
  out.text(std::string_view(reply.assembly).substr(0, kCcMaxAssemblyBytes));
  const std::vector<std::byte> blob = reply.blob ? reply.blob->serialize() : std::vector<std::byte>();
  out.text({reinterpret_cast<const char*>(blob.data()), blob.size()});
  return std::move(out).finish();
}

Result<CcHello> decode_hello(std::string_view payload) {
  Reader in(payload);
  EDGE_INFER_RETURN_IF_ERROR(expect_kind(in, kHello, "hello"));
  CcHello hello;
  hello.build = in.text(256);
  const uint8_t flags = in.u8();
  EDGE_INFER_RETURN_IF_ERROR(in.finish("hello"));
  if (flags > 3) return fail(ErrorCode::kCorruption, "a hello with flags {}, expected at most 3", flags);
  hello.seccomp = (flags & 1) != 0;
  hello.landlock = (flags & 2) != 0;
  return hello;
}

Result<CcRequest> decode_request(std::string_view payload) {
  Reader in(payload);
  EDGE_INFER_RETURN_IF_ERROR(expect_kind(in, kRequest, "request"));
  CcRequest request;
  request.id = in.u32();
  const uint8_t flags = in.u8();
  request.target = in.text(256);
  request.features = in.text(4096);
  request.source = in.text(kCcMaxSourceBytes);
  EDGE_INFER_RETURN_IF_ERROR(in.finish("request"));
  if (flags > 1) return fail(ErrorCode::kCorruption, "a request with flags {}, expected at most 1", flags);
  request.assembly = flags != 0;
  return request;
}

Result<CcReply> decode_reply(std::string_view payload) {
  Reader in(payload);
  EDGE_INFER_RETURN_IF_ERROR(expect_kind(in, kReply, "reply"));
  CcReply reply;
  reply.id = in.u32();
  reply.seconds = std::bit_cast<double>(in.u64());
  const uint8_t code = in.u8();
  const std::string_view message = in.text(kCcMaxDiagnosticBytes);
  reply.assembly = in.text(kCcMaxAssemblyBytes);
  const std::string_view blob = in.text(KernelBlob::kMaxBytes + 64);
  EDGE_INFER_RETURN_IF_ERROR(in.finish("reply"));
  if (!std::isfinite(reply.seconds) || reply.seconds < 0)
    return fail(ErrorCode::kCorruption, "a reply of {} seconds", reply.seconds);
  if (code > 1 + kLastErrorCode) return fail(ErrorCode::kCorruption, "a reply with the error code {}", code);
  if (code != 0) {
    if (!blob.empty()) return fail(ErrorCode::kCorruption, "a reply with both an error and code");
    reply.blob = std::unexpected(Error{static_cast<ErrorCode>(code - 1), std::string(message)});
    return reply;
  }
  if (!message.empty()) return fail(ErrorCode::kCorruption, "a reply with both code and an error");
  EDGE_INFER_ASSIGN(reply.blob, KernelBlob::parse(std::as_bytes(std::span(blob))));
  return reply;
}

Result<std::optional<std::string>> CcFrames::next() {
  const size_t header = std::min(buffer_.size(), kMagic.size());
  if (std::string_view(buffer_).substr(0, header) != kMagic.substr(0, header))
    return fail(ErrorCode::kCorruption, "a message that does not begin with \"{}\"", kMagic);
  if (buffer_.size() < kFrameHeader) return std::nullopt;
  const size_t bytes = little_endian(std::string_view(buffer_).substr(4, 4));
  if (bytes > kCcMaxMessageBytes)
    return fail(ErrorCode::kCorruption, "a message of {} bytes, expected at most {}", bytes,
                kCcMaxMessageBytes);
  if (buffer_.size() - kFrameHeader < bytes) return std::nullopt;
  std::string payload = buffer_.substr(kFrameHeader, bytes);
  buffer_.erase(0, kFrameHeader + bytes);
  return payload;
}

}  // namespace edge_infer
