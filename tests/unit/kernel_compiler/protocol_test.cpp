// Frames and messages between CcCompiler and edge-infer-cc.
#include "backends/cpu/cc/protocol.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace edge_infer {
namespace {

// The one payload of a frame.
std::string payload(const std::string& frame) {
  CcFrames frames;
  frames.append(frame);
  const Result<std::optional<std::string>> found = frames.next();
  EXPECT_TRUE(found && *found) << frame.size();
  EXPECT_FALSE(frames.partial());
  return found && *found ? **found : "";
}

CcReply sample_reply() {
  CcReply reply{.id = 7, .seconds = 0.25, .assembly = "ret\n", .blob = KernelBlob{}};
  reply.blob->image.assign(70, std::byte{0xc3});
  reply.blob->entry = 3;
  return reply;
}

const CcRequest kRequest{
    .id = 12, .target = "cpu.avx2", .features = "avx2,fma", .source = "void k() {}", .assembly = true};

TEST(CcProtocol, messages_and_back) {
  const Result<CcHello> hello = decode_hello(payload(encode(CcHello{"clang-19/x", true, false})));
  ASSERT_TRUE(hello) << hello.error().message;
  EXPECT_EQ(hello->build, "clang-19/x");
  EXPECT_TRUE(hello->seccomp);
  EXPECT_FALSE(hello->landlock);

  const Result<CcRequest> request = decode_request(payload(encode(kRequest)));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->id, 12u);
  EXPECT_EQ(request->target, kRequest.target);
  EXPECT_EQ(request->features, kRequest.features);
  EXPECT_EQ(request->source, kRequest.source);
  EXPECT_TRUE(request->assembly);

  const Result<CcReply> reply = decode_reply(payload(encode(sample_reply())));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->id, 7u);
  EXPECT_EQ(reply->seconds, 0.25);
  EXPECT_EQ(reply->assembly, "ret\n");
  EXPECT_EQ(*reply->blob, *sample_reply().blob);

  CcReply failed{.id = 8, .seconds = 0, .assembly = {}, .blob = fail(ErrorCode::kCorruption, "no")};
  const Result<CcReply> error = decode_reply(payload(encode(failed)));
  ASSERT_TRUE(error) << error.error().message;
  ASSERT_FALSE(error->blob);
  EXPECT_EQ(error->blob.error().code, ErrorCode::kCorruption);
  EXPECT_EQ(error->blob.error().message, "no");
}

TEST(CcProtocol, every_truncation_and_extension_is_refused) {
  const std::string hello = payload(encode(CcHello{"b", true, true})), request = payload(encode(kRequest)),
                    reply = payload(encode(sample_reply()));
  for (size_t size = 0; size < hello.size(); ++size) EXPECT_FALSE(decode_hello(hello.substr(0, size)));
  for (size_t size = 0; size < request.size(); ++size) EXPECT_FALSE(decode_request(request.substr(0, size)));
  for (size_t size = 0; size < reply.size(); ++size) EXPECT_FALSE(decode_reply(reply.substr(0, size)));
  EXPECT_FALSE(decode_hello(hello + "x"));
  EXPECT_FALSE(decode_request(request + "x"));
  EXPECT_FALSE(decode_reply(reply + "x"));
  EXPECT_FALSE(decode_request(reply));
  EXPECT_FALSE(decode_reply(hello));
}

TEST(CcProtocol, long_texts_are_cut) {
  CcReply reply{.blob = fail(ErrorCode::kInvalidArgument, "{}", std::string(kCcMaxDiagnosticBytes + 9, 'e'))};
  const Result<CcReply> decoded = decode_reply(payload(encode(reply)));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->blob.error().message.size(), kCcMaxDiagnosticBytes);
}

TEST(CcProtocol, frames_arrive_in_any_pieces) {
  const std::string stream = encode(kRequest) + encode(sample_reply()) + encode(CcHello{});
  CcFrames frames;
  int found = 0;
  for (const char byte : stream) {
    frames.append({&byte, 1});
    const Result<std::optional<std::string>> payload = frames.next();
    ASSERT_TRUE(payload) << payload.error().message;
    found += payload->has_value();
  }
  EXPECT_EQ(found, 3);
  EXPECT_FALSE(frames.partial());
}

TEST(CcProtocol, other_streams_are_refused_at_once) {
  CcFrames frames;
  frames.append("x");
  EXPECT_FALSE(frames.next());
  CcFrames large;
  large.append(std::string("EIC1\xff\xff\xff\xff", 8));
  EXPECT_FALSE(large.next());
}

}  // namespace
}  // namespace edge_infer
